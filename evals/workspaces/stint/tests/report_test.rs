use std::process::Command;

#[test]
fn an_empty_file_gives_an_empty_report() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_stint"))
        .arg("report")
        .env("STINT_FILE", folder.path().join("hours.csv"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).is_empty());
}

#[test]
fn a_week_adds_up_to_nineteen_hours() {
    let output = Command::new(env!("CARGO_BIN_EXE_stint"))
        .args(["report", "--week"])
        .env("STINT_FILE", "tests/data/week.csv")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("19:15"));
}
