//! The program as its users meet it: a process, its output, and sockets.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod oracle;
pub(crate) mod plain_log;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Returns the program with arguments.
pub(crate) fn tollgate(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    tollgate(args).output().expect("the program starts")
}

/// Runs the program with a standard input.
pub(crate) fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = tollgate(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("it has an input").write_all(input).expect("it reads its input");
    child.wait_with_output().expect("the program ends")
}

/// Runs the program, which must not get so far as to serve, to its end.
pub(crate) fn run_unserved(args: &[&str]) -> Output {
    let command = &mut tollgate(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut greeting = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("it has an output"));
    stdout.read_line(&mut greeting).expect("what it says is UTF-8");
    // A server that has greeted would stay.
    if !greeting.is_empty() {
        child.kill().expect("it can be ended");
    }
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(greeting, "", "{args:?} is served");
    output
}

/// Asserts that the program refused with one line that contains `said`, and this exit code.
pub(crate) fn assert_refused(output: &Output, code: i32, said: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(said), "{stderr:?} does not say {said:?}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr:?} is one line");
    assert!(output.stdout.is_empty(), "nothing is reported as well");
}

/// A running server, which is killed when the test is done with it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
    /// What it printed at the start.
    pub(crate) greeting: String,
}

impl Server {
    /// Starts a server on a free port.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = tollgate(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it has an output")).lines();
        let mut line = || lines.next().expect("it greets").expect("it greets in UTF-8");
        let (first, second) = (line(), line());
        let start = first.find("127.0.0.1:").expect("the greeting says where it listens");
        let address: String =
            first[start..].chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect();
        Self { child, address, greeting: format!("{first}\n{second}") }
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket takes a timeout");
        stream
    }

    /// Makes a request on a connection of its own.
    pub(crate) fn request(&self, method: &str, target: &str) -> Answer {
        let mut stream = self.connect();
        let request = format!("{method} {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the server answers and closes");
        Answer::read(&String::from_utf8(bytes).expect("the answer is UTF-8"))
    }

    /// Makes a GET request.
    pub(crate) fn get(&self, target: &str) -> Answer {
        self.request("GET", target)
    }

    /// Sends a signal and returns the exit code.
    pub(crate) fn stop(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        // The shell's own kill: not every system has the program.
        let sent =
            Command::new("sh").args(["-c", "kill \"$@\"", "sh", signal, &pid]).status().expect("there is a shell");
        assert!(sent.success());
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// What follows the head.
    pub(crate) body: String,
}

impl Answer {
    /// Takes a response apart.
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.expect("a status line"),
            headers: headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
            body: body.to_owned(),
        }
    }

    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(seen, _)| seen == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body's JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{:?}: {error}", self.body))
    }
}

/// A folder that goes away with the test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder named after the test.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tollgate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// Returns the path of a file, which need not exist.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is UTF-8").to_owned()
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
