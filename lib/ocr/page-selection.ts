/** The pages that an OCR request selects, numbered from 0. */

import { GatewayError } from '../core/errors.ts'
import { shorten } from '../text/shorten.ts'

const param = 'pages'

/**
 * Returns the page numbers in order, each once.
 *
 * @param pages numbers, or a text such as `0,2-4`
 * @param maxPages maximum pages to select; a page that is selected twice counts twice
 * @throws GatewayError `invalid_value` for no or too many pages, or a text that selects none
 */
export function parsePages (pages: string | readonly number[], maxPages: number): readonly number[] {
  const ranges =
    typeof pages === 'string' ? pages.split(',').map(parseRange) : pages.map(page => [page, page] as const)
  const numbers = new Set<number>()
  let selected = 0
  for (const [first, last] of ranges) {
    selected += last - first + 1
    if (selected > maxPages) throw invalid(`Up to ${maxPages} pages can be selected.`)
    for (let number = first; number <= last; number++) numbers.add(number)
  }
  if (numbers.size === 0) throw invalid('Select at least one page, or leave `pages` out to read all.')
  return [...numbers].toSorted((a, b) => a - b)
}

/**
 * Checks that a document has the selected pages.
 *
 * @throws GatewayError `invalid_value`
 */
export function checkPages (selected: readonly number[], pageCount: number): void {
  const missing = selected.find(number => number >= pageCount)
  if (missing === undefined) return
  throw invalid(
    `The document has no page ${missing}: it has ${pageCount} page${pageCount === 1 ? '' : 's'}, numbered from 0.`
  )
}

function parseRange (text: string): readonly [first: number, last: number] {
  const [, first = '', last = first] = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(text) ?? []
  if (first === '' || Number(last) < Number(first)) {
    throw invalid(`\`${shorten(text)}\` is not a page or a range of pages. Send for example \`0,2-4\`.`)
  }
  return [Number(first), Number(last)]
}

function invalid (message: string): GatewayError {
  return new GatewayError('invalid_value', { message, param })
}
