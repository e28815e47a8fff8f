/** Formats numbers for people. */

const integer = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

/** Prints `12,345`. */
export function count (value: number): string {
  return integer.format(value)
}

/** Prints `12.3K`, where the exact number is shown elsewhere. */
export function shortCount (value: number): string {
  return value < 10_000 ? integer.format(value) : compact.format(value)
}

/** Prints `$1.20` or `$0.0042`: amounts below a cent keep two significant digits. */
export function dollars (usd: number): string {
  if (usd === 0) return '$0.00'
  const digits = Math.abs(usd) >= 0.1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(Math.abs(usd))))
  return `${usd < 0 ? '−' : ''}$${Math.abs(usd).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: digits })}`
}

/** Prints `$0.0042`: the same number of digits for each, so that amounts in a column can be compared. */
export function exactDollars (usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.0001 ? 6 : 4)}`
}

/** Prints `4.2%`. */
export function share (value: number): string {
  return percent.format(value)
}

/** Prints `840 ms`, `1.2 s` or `3 min 4 s`. */
export function duration (ms: number): string {
  if (ms < 1) return '<1 ms'
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** Prints `840 ms`, `1.2 s` or `3.1 min`. */
export function shortDuration (ms: number): string {
  return ms < 60_000 ? duration(ms) : `${(ms / 60_000).toFixed(1)} min`
}

/** Prints `1 key` or `2 keys`. */
export function plural (number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`
}

/** Prints a size: `512 bytes`, `12.3 KB`, `4.0 MB`. */
export function size (bytes: number): string {
  if (bytes < 1000) return plural(bytes, 'byte')
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`
}
