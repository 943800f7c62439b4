"use strict";
// What a page without a script could not do: charts, a choice of light or dark that is remembered, and pictures that begin at the point.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const asked = window.matchMedia("(prefers-color-scheme: dark)");
  const figures = JSON.parse(document.getElementById("figures").textContent);

  const isDark = () => (root.dataset.theme || (asked.matches ? "dark" : "light")) === "dark";
  const recall = () => { try { return localStorage.getItem("highwater-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("highwater-theme", theme); } catch { /* a file may not */ } };

  const colours = (part) => {
    const style = getComputedStyle(root);
    return JSON.parse(JSON.stringify(part), (_, value) =>
      typeof value === "string" && value.startsWith("var:") ? style.getPropertyValue(value.slice(4)).trim() : value);
  };
  const axis = (own) => ({ gridcolor: "var:--rule", zerolinecolor: "var:--rule", linecolor: "var:--rule", automargin: true, fixedrange: false, ...own });
  const draw = () => {
    const narrow = window.innerWidth < 640;
    for (const [name, figure] of Object.entries(figures)) {
      const height = narrow ? 260 + 17 * Math.max(figure.data.length - 4, 0) : 300; // a legend of many lines needs room
      document.getElementById(`chart-${name}`).style.height = `${height}px`;
      const layout = colours({
        ...figure.layout, xaxis: axis(figure.layout.xaxis), yaxis: axis(figure.layout.yaxis),
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "x unified", dragmode: narrow ? false : "zoom",
        font: { color: "var:--soft", family: getComputedStyle(document.body).fontFamily, size: 12 },
        hoverlabel: { bgcolor: "var:--card", bordercolor: "var:--rule", font: { color: "var:--ink" } },
        margin: { l: 10, r: 10, t: 18, b: 10 }, legend: { orientation: "h", y: -0.12, yanchor: "top", x: 0 }, height,
      });
      layout.width = document.getElementById(`chart-${name}`).clientWidth;
      Plotly.react(`chart-${name}`, colours(figure.data), layout, { displaylogo: false, displayModeBar: false });
    }
  };
  const show = () => { button.textContent = isDark() ? "Switch to light" : "Switch to dark"; draw(); };

  if (["light", "dark"].includes(recall())) root.dataset.theme = recall();
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; remember(root.dataset.theme); show(); });
  asked.addEventListener("change", show);
  const centre = () => {
    for (const log of document.querySelectorAll(".log")) {
      log.scrollLeft = log.dataset.centre - (log.clientWidth - log.firstChild.getBoundingClientRect().width) / 2;
    }
  };
  let width = 0;
  const charts = document.getElementById("charts");
  new ResizeObserver(() => { if (charts.clientWidth !== width) { width = charts.clientWidth; centre(); draw(); } }).observe(charts);
  show();
})();
