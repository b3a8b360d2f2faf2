//! The order of the modules, and what may stand where: read from the source.
#![cfg(not(loom))]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The modules from the ground up: one may use its own group and those above it. Every module of `src/` stands here.
const LAYERS: &[(&str, &[&str])] = &[
    ("platform", &["sync"]),
    ("vocabulary", &["clock", "decision", "error", "quota"]),
    ("algorithm", &["algorithm"]),
    ("state", &["key", "table", "ring"]),
    ("library", &["count", "sweep", "wait", "limiter", "single"]),
    ("policy", &["policy"]),
    ("edges", &["http"]),
];

/// Where unsafe code may stand.
const UNSAFE: &[&str] = &["table/", "ring.rs"];

/// Names that may stand in one file alone, and that file.
const KEPT: &[(&str, &str)] = &[
    ("std::sync::atomic", "sync.rs"),
    ("core::sync::atomic", "sync.rs"),
    ("sync::{atomic", "sync.rs"),
    ("Instant::", "clock.rs"),
    ("SystemTime", "clock.rs"),
    ("quanta::", "clock.rs"),
];

/// Source files by their path below `src/`.
type Sources = BTreeMap<String, String>;

/// Reads all files below `src/`.
fn sources() -> Sources {
    fn read(dir: &Path, prefix: &str, sources: &mut Sources) {
        for entry in fs::read_dir(dir).expect("a folder of sources") {
            let path = entry.expect("a readable folder").path();
            let name = format!("{prefix}{}", path.file_name().and_then(|name| name.to_str()).expect("a plain name"));
            if path.is_dir() {
                read(&path, &format!("{name}/"), sources);
            } else if name.ends_with(".rs") {
                sources.insert(name, fs::read_to_string(&path).expect("a readable file"));
            }
        }
    }
    let mut sources = Sources::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut sources);
    sources
}

/// Returns the code of a file without comments and, as far as a line can tell, without text in quotes.
fn code(source: &str) -> String {
    let line = |line: &str| {
        let line = line.split("//").next().unwrap_or_default();
        line.split('"').step_by(2).collect::<Vec<_>>().join("\"")
    };
    source.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the path of a module's file, as far as the path names one: `table/segment.rs` for `table::segment::Slot`.
fn file_of<'a>(path: &str, sources: &'a Sources) -> Option<&'a str> {
    let names: Vec<&str> = path.split("::").collect();
    (1..=names.len()).rev().find_map(|len| {
        let base = names[..len].join("/");
        let files = [format!("{base}.rs"), format!("{base}/mod.rs")];
        files.iter().find_map(|file| sources.get_key_value(file)).map(|(file, _)| file.as_str())
    })
}

/// Returns the paths that code names from the crate's root, with the items of a list in braces one by one.
fn crate_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if !code[..at].ends_with(|c: char| c == '$' || c == '_' || c.is_alphanumeric()) {
            let rest = &code[at + "crate::".len()..];
            read_path(rest, "", &mut paths);
        }
    }
    paths
}

/// Reads one path, or a list of them, and returns what is left of the text.
fn read_path<'a>(text: &'a str, prefix: &str, paths: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            match rest.strip_prefix('}') {
                Some(rest) => return rest,
                None if rest.is_empty() => return rest,
                None => {
                    let next = read_path(rest, prefix, paths);
                    // What is no path, such as a rename, is skipped.
                    rest = if next.len() == rest.len() {
                        &rest[rest.chars().next().map_or(0, char::len_utf8)..]
                    } else {
                        next
                    };
                }
            }
        }
    }
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    let path = format!("{prefix}{}", &text[..end]);
    match text[end..].strip_prefix("::") {
        Some(rest) => read_path(rest, &format!("{path}::"), paths),
        None => {
            paths.push(path);
            &text[end..]
        }
    }
}

/// Returns the place of a module in the order, and its group.
fn layer(module: &str) -> Option<(usize, &'static str)> {
    let mut layers = LAYERS.iter().enumerate();
    layers.find_map(|(idx, (group, modules))| modules.contains(&module).then_some((idx, *group)))
}

/// Returns the module that a file belongs to: the first part of its path.
fn module_of(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap_or(file)
}

/// Tells whether a word stands in code by itself.
fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|part| part == word)
}

/// Returns everything in the sources that is not as it should be.
fn faults(sources: &Sources) -> Vec<String> {
    let mut faults = Vec::new();
    let mut uses = BTreeMap::<&str, Vec<&str>>::new();
    for (file, source) in sources {
        let code = code(source);
        for (name, home) in KEPT {
            if code.contains(name) && file != home {
                faults.push(format!("{file} names {name}, which may stand in {home} alone"));
            }
        }
        if has_word(&code, "unsafe") && !UNSAFE.iter().any(|place| file.starts_with(place)) {
            faults.push(format!("{file} has unsafe code, which may stand in {UNSAFE:?} alone"));
        }
        if file == "lib.rs" {
            continue;
        }
        let module = module_of(file);
        let Some((own, group)) = layer(module) else {
            faults.push(format!("{file}: add the module {module} to LAYERS, where it belongs in the order"));
            continue;
        };
        for path in crate_paths(&code) {
            let used = path.split("::").next().unwrap_or_default();
            match layer(used) {
                Some((other, below)) if other > own => {
                    faults.push(format!("{file} uses {path}, but {group} stands above {below}"));
                }
                Some(_) => uses.entry(file).or_default().extend(file_of(&path, sources)),
                None if sources.keys().any(|file| module_of(file) == used) => {}
                None => faults.push(format!("{file} uses {path} from the root: name the module it lives in")),
            }
        }
    }
    faults.extend(uses.keys().filter_map(|file| cycle(file, &uses)));
    faults
}

/// Returns a way from a module back to itself, told once: by the file that comes first. Files of one folder are one
/// module to everybody else.
fn cycle(start: &str, uses: &BTreeMap<&str, Vec<&str>>) -> Option<String> {
    let mut ways = vec![vec![start]];
    let mut seen = Vec::new();
    while let Some(way) = ways.pop() {
        let last = way.last().copied().unwrap_or(start);
        for next in uses.get(last).into_iter().flatten().filter(|next| **next != last) {
            if *next == start && way.iter().all(|file| *file >= start) {
                return Some(format!("a cycle: {} -> {start}", way.join(" -> ")));
            }
            if !seen.contains(next) {
                seen.push(next);
                ways.push(way.iter().chain([next]).copied().collect());
            }
        }
    }
    None
}

#[test]
fn every_module_uses_only_what_stands_above_it() {
    let faults = faults(&sources());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn each_fault_is_found() {
    let found = |files: &[(&str, &str)]| {
        faults(&files.iter().map(|(file, source)| (String::from(*file), String::from(*source))).collect())
    };
    let sound = [
        ("lib.rs", "mod sync;\npub use crate::clock::Tick;"),
        ("sync.rs", "pub(crate) use std::sync::atomic::AtomicU64;"),
        ("clock.rs", "use crate::sync::AtomicU64; // not crate::limiter\nfn f() { Instant::now(); }"),
        ("table/mod.rs", "mod segment;\nuse crate::{clock::Tick,\n sync::{AtomicU64, Ordering}};\nunsafe {}"),
        ("table/segment.rs", "/// As `crate::limiter::Limiter`, \"unsafe\".\nuse crate::clock::{self, Tick};"),
        ("limiter.rs", "#![deny(unsafe_code)]\nuse crate::table::Table;\nlet s = \"std::sync::atomic\";"),
    ];
    assert_eq!(found(&sound), [""; 0]);

    for (file, source, fault) in [
        ("clock.rs", "use crate::limiter::Limiter;", "uses limiter::Limiter, but vocabulary stands above library"),
        ("clock.rs", "use crate::{sync::X,\n  table::{Table as T, Y}};", "uses table::Table, but vocabulary"),
        ("quota.rs", "fn f() -> crate::ring::Ring {}", "uses ring::Ring, but vocabulary stands above state"),
        ("clock.rs", "pub(crate) use crate::http::Layer;", "vocabulary stands above edges"),
        ("count.rs", "use std::sync::atomic::AtomicU64;", "names std::sync::atomic"),
        ("count.rs", "use core::sync::atomic;", "names core::sync::atomic"),
        ("count.rs", "use std::sync::{atomic::AtomicU64, Arc};", "names sync::{atomic"),
        ("sweep.rs", "let now = Instant::now();", "names Instant::"),
        ("key.rs", "fn f() { unsafe { g() } }", "has unsafe code"),
        ("tables.rs", "unsafe fn f() {}", "has unsafe code"),
        ("novel.rs", "", "add the module novel to LAYERS"),
        ("limiter.rs", "use crate::Tick;", "uses Tick from the root"),
    ] {
        let mut files = sound.to_vec();
        files.retain(|(name, _)| *name != file);
        files.push((file, source));
        let found = found(&files);
        assert!(found.iter().any(|one| one.contains(fault)), "{fault} in {found:?}");
    }

    let cycles = [
        ("limiter.rs", "use crate::sweep::Sweep;"),
        ("sweep.rs", "use crate::single::Single;"),
        ("single.rs", "use crate::limiter::Limiter;"),
    ];
    assert_eq!(found(&cycles), ["a cycle: limiter.rs -> sweep.rs -> single.rs -> limiter.rs"]);
}
