//! The picture: what passes the adversary over time, and the most that passes in a period.

use std::fmt::Display;
use std::time::Duration;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::accuracy::errors::trailing;
use crate::accuracy::{Comparison, Row};
use crate::failure::Failure;

/// The size in pixels.
const SIZE: (u32, u32) = (980, 940);
/// How much of the height the upper chart takes.
const UPPER: u32 = 460;
/// The periods that the upper chart shows.
const SHOWN: [f64; 2] = [0.5, 4.5];
/// How often in a period it looks.
const LOOKS: u32 = 200;
/// What is written in.
const INK: RGBColor = RGBColor(40, 44, 52);
/// The axes and the limit.
const GREY: RGBColor = RGBColor(140, 146, 156);
/// Seven colours that the colour-blind tell apart as well (Okabe and Ito, 2008).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(0, 158, 115),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
/// The colours of the bars: the bound, the worst found, the traffic.
const BARS: [RGBColor; 3] = [RGBColor(208, 214, 222), RGBColor(0, 114, 178), RGBColor(230, 159, 0)];

/// What is drawn on.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Why nothing could be drawn.
type Drawing<T> = Result<T, Box<dyn std::error::Error>>;

/// Returns the picture as SVG.
pub(super) fn draw(comparison: &Comparison) -> Result<String, Failure> {
    let mut text = String::new();
    draw_on(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), comparison).map_err(cannot_draw)?;
    Ok(text)
}

/// Says why there is no picture.
fn cannot_draw(error: impl Display) -> Failure {
    Failure::io(format_args!("cannot draw the picture: {error}"))
}

/// Draws both charts.
fn draw_on(area: &Area<'_>, comparison: &Comparison) -> Drawing<()> {
    area.fill(&WHITE)?;
    let (upper, lower) = area.split_vertically(UPPER);
    draw_edges(&upper, comparison)?;
    draw_bars(&lower, comparison)?;
    area.present()?;
    Ok(())
}

/// Draws how many requests of the adversary passed in the period up to each moment.
fn draw_edges(area: &Area<'_>, comparison: &Comparison) -> Drawing<()> {
    let limit = comparison.quota.limit();
    write_title(area, "An adversary at every second edge of the windows: passed within the last period")?;
    let mut chart = ChartBuilder::on(area)
        .margin(18)
        .margin_top(52)
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d(SHOWN[0]..SHOWN[1], 0..2 * limit + (2 * limit).div_ceil(3))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25))
        .axis_style(GREY)
        .label_style(style(13))
        .axis_desc_style(style(14))
        .x_desc("time in periods")
        .y_desc("requests")
        .x_labels(9)
        .x_label_formatter(&|periods| format!("{periods:.1}"))
        .y_labels(6)
        .draw()?;
    let limit_line = [(SHOWN[0], limit), (SHOWN[1], limit)];
    chart.draw_series(DashedLineSeries::new(limit_line, 6, 5, GREY.stroke_width(2)))?;
    let (x, y) = chart.backend_coord(&(SHOWN[0], limit));
    write_at(area, "the limit", (x + 36, y - 10), 13)?;
    for (line, color) in lines(comparison).into_iter().zip(COLORS) {
        let series = LineSeries::new(line.points, color.stroke_width(3));
        let entry = move |(x, y)| PathElement::new(vec![(x, y), (x + 22, y)], color.stroke_width(3));
        chart.draw_series(series)?.label(line.names.join(", ")).legend(entry);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .margin(8)
        .legend_area_size(30)
        .background_style(WHITE.mix(0.9))
        .border_style(GREY.mix(0.5))
        .label_font(style(13))
        .draw()?;
    Ok(())
}

/// A line of the upper chart, and the algorithms that it stands for.
struct Line {
    names: Vec<&'static str>,
    /// The periods that have gone by, and the requests.
    points: Vec<(f64, u64)>,
}

/// Returns the lines, one for all algorithms that do alike.
fn lines(comparison: &Comparison) -> Vec<Line> {
    let Comparison { quota, traffics, rows } = comparison;
    let span = |periods: f64| (periods * f64::from(LOOKS)) as u32;
    // The quotient is exact to a nanosecond: no longer than a day, in hundreds of parts.
    let moments: Vec<Duration> = (span(SHOWN[0])..=span(SHOWN[1])).map(|look| quota.period() * look / LOOKS).collect();
    let mut lines: Vec<Line> = Vec::new();
    for Row { contender, against_edges, .. } in rows {
        let counts = trailing(&traffics[0], against_edges, quota, &moments);
        let looks = (span(SHOWN[0])..).map(|look| f64::from(look) / f64::from(LOOKS));
        let points = steps(looks.zip(counts));
        match lines.iter_mut().find(|line| line.points == points) {
            Some(line) => line.names.push(contender.choice.name()),
            None => lines.push(Line { names: vec![contender.choice.name()], points }),
        }
    }
    lines
}

/// Leaves out the points between two that are as high as they.
fn steps(points: impl Iterator<Item = (f64, u64)>) -> Vec<(f64, u64)> {
    let mut kept: Vec<(f64, u64)> = Vec::new();
    for point in points {
        match kept[..] {
            [.., (_, before), (_, last)] if before == point.1 && last == point.1 => {
                kept.pop();
                kept.push(point);
            }
            _ => kept.push(point),
        }
    }
    kept
}

/// Draws the bars: of each algorithm the bound, the worst that was found, and the most on the last traffic.
fn draw_bars(area: &Area<'_>, comparison: &Comparison) -> Drawing<()> {
    let Comparison { quota, traffics, rows } = comparison;
    write_title(area, &format!("The most in any one period, at a limit of {quota} for each key"))?;
    let chart_area = area.margin(52, 66, 18, 18);
    let mut chart = ChartBuilder::on(&chart_area)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..rows.len() as f64, 0..2 * quota.limit() + quota.limit().div_ceil(8))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25))
        .axis_style(GREY)
        .label_style(style(13))
        .axis_desc_style(style(14))
        .y_desc("requests")
        .y_labels(6)
        .draw()?;
    for (column, row) in rows.iter().enumerate() {
        let heights = [Some(row.bound), Some(row.worst.most), row.errors.last().map(|errors| errors.most)];
        for ((place, height), color) in (0..).zip(heights.into_iter().flatten()).zip(BARS) {
            let left = column as f64 + 0.14 + 0.24 * f64::from(place);
            let corners = [(left, 0), (left + 0.22, height)];
            chart.draw_series([Rectangle::new(corners, color.filled())])?;
            let (x, y) = chart.backend_coord(&(left + 0.11, height));
            write_at(area, &height.to_string(), (x, y - UPPER as i32 - 9), 13)?;
        }
        let (x, y) = chart.backend_coord(&(column as f64 + 0.5, 0));
        write_at(area, row.contender.choice.name(), (x, y - UPPER as i32 + 14), 13)?;
    }
    let traffic = traffics.last().map_or("", |traffic| traffic.title);
    draw_legend(area, &["proven bound", "worst found by search", &format!("seen on: {traffic}")])
}

/// Draws what the bars' colours mean, below them.
fn draw_legend(area: &Area<'_>, names: &[&str; 3]) -> Drawing<()> {
    let y = (SIZE.1 - UPPER) as i32 - 22;
    for ((x, name), color) in [240, 420, 660].into_iter().zip(names).zip(BARS) {
        area.draw(&Rectangle::new([(x, y - 7), (x + 14, y + 7)], color.filled()))?;
        area.draw(&Text::new((*name).to_owned(), (x + 22, y), style(14).pos(Pos::new(HPos::Left, VPos::Center))))?;
    }
    Ok(())
}

/// Writes what a chart shows, above it.
fn write_title(area: &Area<'_>, title: &str) -> Drawing<()> {
    write_at(area, title, (SIZE.0 as i32 / 2, 28), 19)
}

/// Writes a text around a point.
fn write_at(area: &Area<'_>, text: &str, at: (i32, i32), size: u32) -> Drawing<()> {
    area.draw(&Text::new(text.to_owned(), at, style(size).pos(Pos::new(HPos::Center, VPos::Center))))?;
    Ok(())
}

/// Returns the style of texts.
fn style(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}
