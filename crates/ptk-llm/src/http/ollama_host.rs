//! The address in `OLLAMA_HOST`.

/// The default port.
const PORT: &str = "11434";

/// Parses the address in `OLLAMA_HOST`, in any of the forms that Ollama itself
/// takes.
pub(super) fn address(said: &str) -> String {
    let said = said.trim();
    let (scheme, rest, port) = match said.split_once("://") {
        None => ("http", said, PORT),
        Some(("https", rest)) => ("https", rest, "443"),
        Some((scheme, rest)) => (scheme, rest, "80"),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match authority.rsplit_once(':') {
        // Colons of an IPv6 address are in brackets, unless it has no port.
        Some((host, said))
            if !said.ends_with(']') && (!host.contains(':') || host.ends_with(']')) =>
        {
            (
                host,
                if said.parse::<u16>().is_ok() {
                    said
                } else {
                    port
                },
            )
        }
        _ => (authority, port),
    };
    let host = match host.trim_matches(['[', ']']) {
        // A server that listens on all addresses is reached locally.
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() {
        String::new()
    } else {
        format!("/{path}")
    };
    format!("{scheme}://{host}:{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_address_has_all_the_forms_that_ollama_takes() {
        for (said, expected) in [
            ("", "http://127.0.0.1:11434"),
            ("example.com", "http://example.com:11434"),
            ("example.com:1234", "http://example.com:1234"),
            (":1234", "http://127.0.0.1:1234"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:1234", "http://127.0.0.1:1234"),
            ("http://example.com", "http://example.com:80"),
            ("https://example.com", "https://example.com:443"),
            (
                "https://example.com:8443/ollama/",
                "https://example.com:8443/ollama",
            ),
            ("example.com/base", "http://example.com:11434/base"),
            ("example.com:port", "http://example.com:11434"),
            ("::1", "http://[::1]:11434"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:1234", "http://[::1]:1234"),
            ("[::]:1234", "http://[::1]:1234"),
            (" 192.168.0.7 ", "http://192.168.0.7:11434"),
        ] {
            assert_eq!(address(said), expected, "{said}");
        }
    }
}
