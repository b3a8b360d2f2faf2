//! The time of an entry.

use super::Malformed;

/// The length of a time like `22/Apr/2009:18:52:51 +1200`.
pub(super) const LEN: usize = 26;

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Tells whether a text has the digits, letters and separators of a time in their places.
pub(super) fn is_shaped(text: &[u8; LEN]) -> bool {
    const SHAPE: &[u8; LEN] = b"00/aaa/0000:00:00:00 +0000";
    text.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        b'a' => byte.is_ascii_alphabetic(),
        b'+' => matches!(byte, b'+' | b'-'),
        _ => byte == shape,
    })
}

/// Returns the seconds since 1970 of a text that has the shape of a time.
///
/// A second of 60, which clocks show when a leap second is put in, is the one after.
pub(super) fn unix_seconds(text: &[u8; LEN]) -> Result<u32, Malformed> {
    let number = |from: usize, to: usize| {
        text[from..to].iter().fold(0, |number, digit| number * 10 + i64::from(digit.wrapping_sub(b'0')))
    };
    let month = MONTHS.iter().position(|name| text[3..6] == name[..]).ok_or(Malformed::ImpossibleTime)?;
    let (day, year) = (number(0, 2), number(7, 11));
    let (hour, minute, second) = (number(12, 14), number(15, 17), number(18, 20));
    let (zone_hours, zone_minutes) = (number(22, 24), number(24, 26));

    let is_possible = (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60
        && zone_hours < 24
        && zone_minutes < 60;
    if !is_possible {
        return Err(Malformed::ImpossibleTime);
    }
    let east = (zone_hours * 60 + zone_minutes) * 60;
    let east = if text[21] == b'-' { -east } else { east };
    let days = days_before_year(year) + days_before_month(year, month) + day - 1 - days_before_year(1970);
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - east;
    u32::try_from(seconds).map_err(|_| Malformed::TimeOutOfRange)
}

/// Tells whether a year has 366 days.
fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the days of a month, which is counted from zero.
fn days_of_month(year: i64, month: usize) -> i64 {
    const DAYS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    DAYS[month] + i64::from(month == 1 && is_leap(year))
}

/// Returns the days of a year that lie before a month, which is counted from zero.
fn days_before_month(year: i64, month: usize) -> i64 {
    const DAYS: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    DAYS[month] + i64::from(month > 1 && is_leap(year))
}

/// Returns the days before a year, counted in our calendar from the year 1 on.
fn days_before_year(year: i64) -> i64 {
    let past = year - 1;
    past * 365 + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400)
}

/// Writes seconds since 1970 as a date and time in UTC.
///
/// # Examples
///
/// ```
/// use tollgate_server::access_log::shown_time;
///
/// assert_eq!(shown_time(1_240_383_171), "2009-04-22T06:52:51Z");
/// ```
pub fn shown(unix_seconds: u32) -> String {
    let (day, second) = (i64::from(unix_seconds / 86_400), unix_seconds % 86_400);
    let day = day + days_before_year(1970);
    let year = (1970..).take_while(|year| days_before_year(*year) <= day).last().unwrap_or(1970);
    let day = day - days_before_year(year);
    let month = (0..12).rev().find(|month| days_before_month(year, *month) <= day).unwrap_or(0);
    let day = day - days_before_month(year, month) + 1;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a time.
    fn read(text: &str) -> Result<u32, Malformed> {
        let text = text.as_bytes().first_chunk().expect("a text of the length of a time");
        assert!(is_shaped(text));
        unix_seconds(text)
    }

    #[test]
    fn zones_are_honoured() {
        assert_eq!(read("01/Jan/1970:00:00:00 +0000"), Ok(0));
        assert_eq!(read("01/Jan/1970:05:30:00 +0530"), Ok(0));
        assert_eq!(read("31/Dec/1969:20:00:00 -0400"), Ok(0));
        assert_eq!(read("22/Apr/2009:18:52:51 +1200"), Ok(1_240_383_171));
        assert_eq!(read("29/Feb/2024:23:59:59 +0200"), read("29/Feb/2024:21:59:59 +0000"));
        assert_eq!(read("07/Feb/2106:06:28:15 +0000"), Ok(u32::MAX));
    }

    #[test]
    fn a_leap_second_is_the_next_one() {
        assert_eq!(read("31/Dec/2016:23:59:60 +0000"), read("01/Jan/2017:00:00:00 +0000"));
    }

    #[test]
    fn dates_that_never_were_are_refused() {
        for text in [
            "00/Jan/2009:00:00:00 +0000",
            "32/Jan/2009:00:00:00 +0000",
            "29/Feb/2009:00:00:00 +0000",
            "29/Feb/2100:00:00:00 +0000",
            "31/Apr/2009:00:00:00 +0000",
            "01/Foo/2009:00:00:00 +0000",
            "01/Jan/2009:24:00:00 +0000",
            "01/Jan/2009:00:60:00 +0000",
            "01/Jan/2009:00:00:61 +0000",
            "01/Jan/2009:00:00:00 +2400",
            "01/Jan/2009:00:00:00 +0060",
        ] {
            assert_eq!(read(text), Err(Malformed::ImpossibleTime), "{text}");
        }
        for text in ["31/Dec/1969:23:59:59 +0000", "01/Jan/1970:00:00:00 +0100", "07/Feb/2106:06:28:16 +0000"] {
            assert_eq!(read(text), Err(Malformed::TimeOutOfRange), "{text}");
        }
        assert_eq!(read("01/Jan/0000:00:00:00 +0000"), Err(Malformed::TimeOutOfRange));
        assert_eq!(read("31/Dec/9999:23:59:59 +0000"), Err(Malformed::TimeOutOfRange));
    }

    #[test]
    fn what_is_not_a_time_is_not_shaped_like_one() {
        for text in ["1/Jan/2009:00:00:00 +00000", "01-Jan-2009 00:00:00 +0000", "01/Jan/2009:00:00:00 Z0000"] {
            assert!(!is_shaped(text.as_bytes().first_chunk().expect("long enough")), "{text}");
        }
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        for (text, written) in [
            ("01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00Z"),
            ("31/Dec/1972:23:59:59 +0000", "1972-12-31T23:59:59Z"),
            ("29/Feb/2000:12:34:56 +0000", "2000-02-29T12:34:56Z"),
            ("01/Mar/2001:00:00:00 +0000", "2001-03-01T00:00:00Z"),
            ("31/Dec/2024:23:59:59 +0000", "2024-12-31T23:59:59Z"),
            ("07/Feb/2106:06:28:15 +0000", "2106-02-07T06:28:15Z"),
        ] {
            assert_eq!(read(text).map(shown), Ok(written.to_owned()));
        }
    }
}
