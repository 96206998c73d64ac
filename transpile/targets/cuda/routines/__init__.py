"""The routines of CUDA for intrinsics: functions of blocks, and the launches that some take."""
