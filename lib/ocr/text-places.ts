/** Where an OCR request and its answer hold text: the content of the document itself is not text yet. */

import { address, text, type ReplaceText } from '../json/place-table.ts'
import type { ResultEvent } from '../core/events.ts'
import type { OcrInput, OcrPages } from './input.ts'

/** Returns the request with the address of its document replaced; the same request where nothing differs. */
export function replaceDocumentAddress (request: OcrInput, replace: ReplaceText): OcrInput {
  const { document } = request
  if (document.kind !== 'address') return request
  const url = replace(document.url, address)
  return url === document.url ? request : { ...request, document: { ...document, url } }
}

/** Returns the pages with their texts replaced; the same pages where nothing differs. */
export function replacePageTexts (
  event: ResultEvent<OcrPages>,
  replace: ReplaceText
): ResultEvent<OcrPages> {
  const { pages } = event.result
  const others = pages.map(page => {
    const markdown = replace(page.markdown, text)
    return markdown === page.markdown ? page : { ...page, markdown }
  })
  return others.every((page, index) => page === pages[index])
    ? event
    : { ...event, result: { ...event.result, pages: others } }
}
