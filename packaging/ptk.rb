# Homebrew formula, for a tap: Formula/ptk.rb.
class Ptk < Formula
  desc "@DESCRIPTION@"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "@REPOSITORY@/releases/download/v@VERSION@/ptk-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
    sha256 "@SHA256_x86_64@"
  end
  on_arm do
    url "@REPOSITORY@/releases/download/v@VERSION@/ptk-@VERSION@-aarch64-unknown-linux-gnu.tar.gz"
    sha256 "@SHA256_aarch64@"
  end

  def install
    bin.install "ptk"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/ptk.bash" => "ptk"
    zsh_completion.install "completions/_ptk"
    fish_completion.install "completions/ptk.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ptk --version")
    assert_match '"calls":[]', pipe_output("#{bin}/ptk parse", "no call here")
  end
end
