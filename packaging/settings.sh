# What packages say and Cargo.toml does not. The version, the licence and the
# address of the repository come from Cargo.toml.

# shellcheck disable=SC2034 # used by those who source this
# What ptk is. Homebrew takes 80 characters at most, and no article at the front.
DESCRIPTION="Tool calling for any language model, even one that only writes text"
# The maintainer of the Debian package, with an address that is read.
MAINTAINER="The PTK authors <maintainers@ptk.example>"
