/**
 * Prints a size for people: `25 MB`, `47.7 MB`; below a tenth of a megabyte, `900 bytes`.
 *
 * One megabyte is 1,048,576 bytes, as in every limit of file sizes that providers document.
 */
export function formatMegabytes (bytes: number): string {
  const size = Math.round(bytes / 1024 / 1024 * 10) / 10
  return size >= 0.1 ? `${size} MB` : `${bytes} bytes`
}
