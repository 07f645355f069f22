//! The helper that commands are started by, for programs that cannot call
//! [`ptk_sandbox::command::enter`] at the beginning of their `main`. Give its
//! path to `ToolManagerBuilder::helper`.

fn main() -> std::process::ExitCode {
    ptk_sandbox::command::enter();
    std::process::ExitCode::from(2)
}
