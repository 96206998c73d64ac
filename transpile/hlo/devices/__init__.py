"""What a module says of several devices: shardings, axes that results vary along."""
