# For scripts of test/system/ on what is installed: in $work, a tree in another place than it was installed for.
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
source=$PWD
install_tree() { # FOLDER, what was built
  build=${1%/*} flavour=${1##*/}
  make --no-print-directory BUILD="$build" MODE="${flavour#*-}" install DESTDIR="$work/stage" PREFIX=/opt/rtexec >/dev/null
  mkdir "$work/moved"; mv "$work/stage/opt/rtexec" "$work/moved/tree"
  prefix=$work/moved/tree headers=$prefix/include/rtexec-0
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
}
flags() { pkg-config --define-variable=prefix="$prefix" "$@"; }
