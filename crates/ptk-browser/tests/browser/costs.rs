//! What a turn costs apart from the page's own time. Run by hand:
//! `cargo nextest run -p ptk-browser --run-ignored only --no-capture costs`.

use std::time::{Duration, Instant};

use crate::{Scene, and_then, user};

/// How many turns are taken.
const TURNS: usize = 20;

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and finds nothing wrong"]
async fn what_a_turn_costs() {
    for length in [100, 10_000, 100_000] {
        let mut scene = Scene::new().await;
        let still = Duration::from_millis(20);
        let text = "A line of a prompt.\n".repeat(length / 20);
        let (mut sent, mut read) = (Vec::new(), Vec::new());
        let mut request = user(&text);
        let mut start = Duration::ZERO;
        for turn in 0..TURNS {
            let asking = Instant::now();
            let asked = scene.ask(&request);
            scene.chat.prompt().await;
            if turn == 0 {
                start = asking.elapsed();
            } else {
                sent.push(asking.elapsed());
            }
            scene.chat.show("An answer, with *some* `code`.");
            let finished = Instant::now();
            scene.chat.finish();
            let answer = asked.await.unwrap().unwrap().text;
            read.push(finished.elapsed().saturating_sub(still));
            request = and_then(&request, &answer, &text);
        }
        println!(
            "{length} characters: first prompt there after {start:?}, others after {:?}; \
             answer read {:?} after it was whole and still",
            middle(sent),
            middle(read),
        );
        let closing = Instant::now();
        drop(scene);
        println!("browser closed in {:?}", closing.elapsed());
    }
}
