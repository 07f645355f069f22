//! Other names that models know the parameters by.

use ptk_protocol::Arguments;
use serde_json::Value;

/// What other tools call the path of a file.
const PATH: [&str; 3] = ["file_path", "filename", "file"];

/// The arguments with `path`, whatever it was called.
pub(crate) fn with_path(args: Arguments) -> Arguments {
    with(args, "path", &PATH, |path| path)
}

/// The arguments with `file_paths`, where a single path was given.
pub(crate) fn with_paths(args: Arguments) -> Arguments {
    let as_list = |path| match path {
        Value::Array(_) => path,
        path => Value::Array(vec![path]),
    };
    with(args, "file_paths", &["path", "paths", "file_path"], as_list)
}

/// The arguments with `directory`, whatever it was called.
pub(crate) fn with_directory(args: Arguments) -> Arguments {
    with(args, "directory", &["path", "dir", "folder"], |path| path)
}

/// The arguments with `working_dir`, whatever it was called.
pub(crate) fn with_working_dir(args: Arguments) -> Arguments {
    let others = ["cwd", "workdir", "working_directory"];
    with(args, "working_dir", &others, |path| path)
}

/// The arguments with `glob`, whatever it was called, also where it is a part of
/// `path`.
pub(crate) fn with_glob(args: Arguments) -> Arguments {
    let args = with(args, "glob", &["include"], |glob| glob);
    let path = args.get("path").and_then(Value::as_str);
    let Some(path) = path.filter(|path| path.contains('*') && args.get("glob").is_none()) else {
        return args;
    };
    let is_glob = |part: &&str| part.contains('*');
    let folders: Vec<&str> = path.split('/').take_while(|part| !is_glob(part)).collect();
    let rest: Vec<&str> = path.split('/').skip(folders.len()).collect();
    let folder = match folders.as_slice() {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        folders => folders.join("/"),
    };
    // The slash before it says that it begins in the folder.
    let glob = format!("/{}", rest.join("/"));
    let mut map = args.into_map();
    map.insert("path".to_owned(), folder.into());
    map.insert("glob".to_owned(), glob.into());
    Arguments::from(map)
}

/// Takes the value of the first other name that is there, unless the name
/// itself is.
fn with(
    args: Arguments,
    name: &str,
    others: &[&str],
    value: impl FnOnce(Value) -> Value,
) -> Arguments {
    let other = others.iter().find(|other| args.get(other).is_some());
    let Some(other) = other.filter(|_| args.get(name).is_none()) else {
        return args;
    };
    let mut map = args.into_map();
    if let Some(given) = map.remove(*other) {
        map.insert(name.to_owned(), value(given));
    }
    Arguments::from(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(args: Arguments) -> String {
        Value::Object(args.into_map()).to_string()
    }

    fn args(json: &str) -> Arguments {
        Arguments::from_json(json).unwrap()
    }

    #[test]
    fn a_glob_in_the_path_becomes_one() {
        let with_path = |path: &str| {
            let mut given = serde_json::Map::new();
            given.insert("path".to_owned(), path.into());
            json(with_glob(Arguments::from(given)))
        };
        assert_eq!(
            with_path("examples/*.toml"),
            r#"{"path":"examples","glob":"/*.toml"}"#
        );
        assert_eq!(with_path("**/*.rs"), r#"{"path":".","glob":"/**/*.rs"}"#);
        assert_eq!(with_path("/tmp/*"), r#"{"path":"/tmp","glob":"/*"}"#);
        assert_eq!(with_path("/*"), r#"{"path":"/","glob":"/*"}"#);
        assert_eq!(with_path("src"), r#"{"path":"src"}"#);
        let both = r#"{"path":"a/*","glob":"*.rs"}"#;
        assert_eq!(json(with_glob(args(both))), both);
    }

    #[test]
    fn another_name_counts_only_if_the_right_one_is_missing() {
        assert_eq!(
            json(with_path(args(r#"{"file_path":"a"}"#))),
            r#"{"path":"a"}"#
        );
        let both = r#"{"file_path":"a","path":"b"}"#;
        assert_eq!(json(with_path(args(both))), both);
        assert_eq!(json(with_path(args("{}"))), "{}");
        assert_eq!(
            json(with_paths(args(r#"{"path":"a"}"#))),
            r#"{"file_paths":["a"]}"#
        );
        assert_eq!(
            json(with_paths(args(r#"{"paths":["a"]}"#))),
            r#"{"file_paths":["a"]}"#
        );
    }
}
