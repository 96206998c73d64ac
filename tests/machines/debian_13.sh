#!/bin/sh
# Later compilers of Debian 13 on a Debian that has not got them: unpacked into build/debian-13, with
# the C library that they are for; nothing of it is installed. Where Debian 13's gcc runs, so do its
# programs: build/debian-13/bin/{gcc-13,gcc-14,run}. Needs apt, and rights to make namespaces.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD/build/debian-13
rm -rf "$root" && mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/bin" "$root/tree/usr"
: > "$root/apt/status"
# The suites of this Debian's own archive, but for its updates, of the other release.
. /etc/os-release
sed "/^URIs:.*security/,/^\$/d; s/^Suites: *$VERSION_CODENAME .*/Suites: trixie/; s/^Suites: *$VERSION_CODENAME\$/Suites: trixie/" \
    /etc/apt/sources.list.d/debian.sources | awk '/^$/ { exit } { print }' > "$root/apt/debian.sources"
cat > "$root/apt/conf" << EOF
Dir::State::lists "$root/apt/lists";
Dir::State::status "$root/apt/status";
Dir::Cache::archives "$root/apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "$root/apt/debian.sources";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "root";
EOF
export APT_CONFIG="$root/apt/conf"
apt-get -qq update
apt-get -qq install -y --no-install-recommends --download-only gcc-13 gcc-14 libc6-dev
for part in bin lib lib64 sbin; do mkdir -p "$root/tree/usr/$part" && ln -s "usr/$part" "$root/tree/$part"; done
for package in "$root"/apt/archives/*.deb; do dpkg -x "$package" "$root/tree"; done
# What a compiler reads and writes lies where it lies outside.
mounted="dev tmp $(echo "$PWD" | cut -d/ -f2)"
for folder in $mounted; do mkdir -p "$root/tree/$folder"; done
cat > "$root/bin/run" << EOF
#!/bin/sh
# Run a program in the tree of Debian 13, in the same directory.
exec unshare --user --map-root-user --mount sh -c '
for folder in $mounted; do mount --rbind "/\$folder" "$root/tree/\$folder" || exit 126; done
exec unshare --root="$root/tree" --wd="\$PWD" "\$0" "\$@"' "\$@"
EOF
for version in 13 14; do
    printf '#!/bin/sh\nexec "%s" /usr/bin/gcc-%s "$@"\n' "$root/bin/run" "$version" > "$root/bin/gcc-$version"
done
chmod +x "$root"/bin/*
rm -rf "$root/apt"
"$root/bin/gcc-13" --version | head -1
"$root/bin/gcc-14" --version | head -1
