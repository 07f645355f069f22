//! Fusion of lists.

use ptk_search::fuse::{POOL, diversify, reciprocal_rank};

#[test]
fn ranks_are_fused_as_computed_by_hand() {
    let words = ["a", "b", "c"];
    let meaning = ["c", "d", "a"];
    let fused = reciprocal_rank(&[(1.0, &words[..]), (1.0, &meaning[..])]);
    let expected = [
        // First and third in one order or the other: equal, so by name.
        ("a", 1.0 / 61.0 + 1.0 / 63.0),
        ("c", 1.0 / 63.0 + 1.0 / 61.0),
        ("b", 1.0 / 62.0),
        ("d", 1.0 / 62.0),
    ];
    assert_eq!(fused.len(), expected.len());
    for ((id, score), (expected_id, expected_score)) in fused.iter().zip(expected) {
        assert_eq!(*id, expected_id);
        assert!((score - expected_score).abs() < 1e-7, "{id}");
    }
}

#[test]
fn a_weight_counts() {
    let fused = reciprocal_rank(&[(1.0, &["a"][..]), (2.0, &["b"][..])]);
    assert_eq!(fused[0].0, "b");
    assert!((fused[0].1 - 2.0 / 61.0).abs() < 1e-7);
    assert!(reciprocal_rank::<u8>(&[]).is_empty());
}

#[test]
fn what_differs_comes_before_copies() {
    // The second is a copy of the first; the third is nothing like them.
    let like = |a: usize, b: usize| if a.max(b) == 1 { 1.0 } else { 0.0 };
    // 0.7 · 0.9 − 0.3 · 1.0 = 0.33 for the copy, 0.7 · 0.5 = 0.35 for the other.
    assert_eq!(diversify(&[1.0, 0.9, 0.5], 3, like), [0, 2, 1]);
    assert_eq!(diversify(&[1.0, 0.9, 0.4], 3, like), [0, 1, 2]);
    assert_eq!(diversify(&[1.0, 0.9, 0.5], 2, like), [0, 2]);
    assert!(diversify(&[], 5, like).is_empty());
}

#[test]
fn what_lies_behind_the_pool_keeps_its_order() {
    let scores = vec![1.0; POOL + 3];
    let chosen = diversify(&scores, POOL + 2, |_, _| 0.0);
    assert_eq!(chosen, (0..POOL + 2).collect::<Vec<_>>());
}
