//! What a rule with `*` covers that was offered.

use ptk_tools::Decision;

use crate::scene::Scene;

/// Commands that do more than what was approved, with the command for which the
/// rule was offered.
const MORE: [(&str, &str); 36] = [
    (
        "cargo test",
        "cargo test --manifest-path elsewhere/Cargo.toml",
    ),
    ("cargo test", "cargo test --config x"),
    ("cargo test", "cargo test --target-dir out"),
    ("cargo test", "cargo test -- --logfile out"),
    ("cargo test", "cargo test -Zunstable-options"),
    ("cargo clippy", "cargo clippy -- -Clinker=evil"),
    ("cargo clippy", "cargo clippy --fix"),
    ("cargo doc", "cargo doc --open"),
    (
        "cargo nextest run",
        "cargo nextest run --tool-config-file x:evil.toml",
    ),
    ("git status", "git status --no-optional-locks"),
    ("git diff", "git diff --output=x"),
    ("git diff", "git diff --outp x"),
    ("git diff", "git diff --ext-diff"),
    ("git diff", "git diff --no-index a.txt b.txt"),
    ("git diff", "git diff /etc/passwd a.txt"),
    ("git diff", "git diff -Oorder"),
    ("git log", "git log --output x"),
    ("git log", "git log -p --textconv"),
    ("git show", "git show ../other"),
    ("git add", "git add --chmod=+x a.txt"),
    ("git add", "git add --pathspec-from-file=/etc/passwd"),
    ("git branch", "git branch -m new"),
    ("git branch", "git branch --edit-description"),
    ("git commit -m x", "git commit -F /etc/passwd"),
    ("git commit -m x", "git commit -m x --gpg-sign"),
    ("git commit -m x", "git commit -t template"),
    ("git stash list", "git stash pop"),
    ("git switch main", "git switch --orphan new"),
    ("go test ./...", "go test -exec evil ./..."),
    ("go test ./...", "go test -coverprofile=x ./..."),
    ("go test ./...", "go test -C elsewhere ./..."),
    ("go test ./...", "go test ../elsewhere"),
    ("go vet ./...", "go vet -vettool=evil"),
    ("npm ls", "npm ls -C elsewhere"),
    ("pip list", "pip list --log FILE"),
    ("pip list", "pip list --pre --index-url x"),
];

#[tokio::test]
async fn an_offered_rule_covers_only_options_that_are_known() {
    for (first, more) in MORE {
        let scene = Scene::new(&[]);
        scene.answer(Decision::AllowForSession);
        assert!(scene.bash(first).await.success, "{first}");
        let rules = scene.questions().pop().unwrap().rules;
        assert!(rules[0].ends_with(" *)"), "{first}: {rules:?}");
        assert_eq!(scene.verdict(first).await, "runs", "{first}");
        assert_eq!(scene.verdict(more).await, "asks", "{more}");
    }
}

#[tokio::test]
async fn everyday_options_are_covered() {
    for (first, lines) in [
        (
            "cargo test",
            &[
                "cargo test -q --workspace",
                "cargo test -p ptk-tools some::name -- --nocapture --test-threads=1",
                "cargo test --features a,b --color=never",
            ][..],
        ),
        (
            "cargo clippy",
            &["cargo clippy --all-targets -- -D warnings"],
        ),
        (
            "git log",
            &[
                "git log --oneline -20",
                "git log -n 5 -p -- src",
                "git log --format=%H main",
            ],
        ),
        (
            "git diff",
            &[
                "git diff HEAD~1 --stat",
                "git diff -U5 --cached -- src/a.rs",
            ],
        ),
        (
            "git status",
            &["git status -sb", "git status --porcelain=v2"],
        ),
        (
            "git commit -m x",
            &["git commit -am 'a message'", "git commit --amend --no-edit"],
        ),
        ("go test ./...", &["go test -v -run Name ./pkg/..."]),
    ] {
        let scene = Scene::new(&[]);
        scene.answer(Decision::AllowForSession);
        scene.bash(first).await;
        scene.questions();
        for line in lines {
            assert_eq!(scene.verdict(line).await, "runs", "{line}");
        }
    }
}

#[tokio::test]
async fn what_may_do_anything_is_offered_as_it_is() {
    for (line, rule) in [
        ("npm test", "bash(npm test)"),
        ("npm test -C dir", ""),
        ("npm run lint", "bash(npm run lint)"),
        ("pnpm test", "bash(pnpm test)"),
        ("yarn run build", "bash(yarn run build)"),
        ("pip list --log FILE", "bash(pip list --log FILE)"),
        ("git checkout a.txt", "bash(git checkout a.txt)"),
        ("git mv a.txt b.txt", "bash(git mv a.txt b.txt)"),
        ("git stash", "bash(git stash)"),
        ("git -c alias.x=!cmd x", ""),
        ("git -C src log", "bash(git -C src log)"),
        ("git diff --no-index a b", "bash(git diff --no-index a b)"),
        (
            "cargo test --manifest-path x",
            "bash(cargo test --manifest-path x)",
        ),
        ("./git status", "bash(./git status)"),
    ] {
        let scene = Scene::new(&[]);
        scene.bash(line).await;
        let rules = scene.questions().pop().unwrap().rules;
        assert_eq!(rules.join(" "), rule, "{line}");
    }
}
