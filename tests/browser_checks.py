"""Questions to a page that is open in a browser."""

LIST_FIGURES = """() => [...document.querySelectorAll("figure:not(.diagram)")].map(figure => {
  const plot = figure.querySelector('.plot');
  const caption = figure.querySelector('figcaption');
  const axes = plot && plot._fullLayout
    ? Object.entries(plot._fullLayout).filter(([key, axis]) => /^[xy]axis\\d*$/.test(key) && axis.visible !== false
        && axis.showticklabels !== false)
        .map(([key, axis]) => axis.title && axis.title.text || '')
    : [...figure.querySelectorAll('svg text.title')].map(e => e.textContent);
  return {
    title: caption ? caption.innerText.trim() : '',
    label: plot ? plot.getAttribute('aria-label') : 'drawn in the page',
    axes, seen: !figure.closest('details:not([open])'),
    legend: !!(plot ? plot.querySelector('.legend .traces, .cbtitle') : figure.querySelector('.legend')),
  };
})"""

FIND_OVERFLOW = """() => [...document.querySelectorAll('main *')].filter(e => {
  if (!e.offsetParent || e.closest('.plot') || e.closest('.table') || e.closest('svg')) return false;
  const box = e.getBoundingClientRect();
  return box.width > 0 && (box.right > document.documentElement.clientWidth + 1 || box.left < -1);
}).map(e => e.outerHTML.slice(0, 120))"""

FIND_CUT_TEXT = """() => [...document.querySelectorAll('.plot')].filter(plot => plot.offsetParent).flatMap(plot => {
  const frame = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('svg text')].filter(text => {
    const box = text.getBoundingClientRect();
    if (box.width === 0 || getComputedStyle(text).opacity === '0') return false;
    return box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2
      || box.bottom > frame.bottom + 2;
  }).map(text => `${plot.closest('figure').querySelector('figcaption').textContent}: ${text.textContent}`);
})"""


def list_figures(page) -> list[dict]:
    """Title, alternative text, titles of axes and whether there is a legend, of every figure."""
    return page.evaluate(LIST_FIGURES)


def find_overflow(page) -> list[str]:
    """Elements that reach beyond the window."""
    return page.evaluate(FIND_OVERFLOW)


def find_cut_text(page) -> list[str]:
    """Words of figures that reach beyond them."""
    return page.evaluate(FIND_CUT_TEXT)


def open_everything(page) -> None:
    """Unfold all, and wait until what was hidden is drawn."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure.drawn')].every(f => f.dataset.state === 'ready')"
    )
