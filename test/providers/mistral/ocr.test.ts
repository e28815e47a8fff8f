import t from 'tap'
import { mistralOcr } from '../../../lib/providers/mistral/ocr.ts'
import { readResponse } from '../../support/adapters.ts'
import type { OcrInput } from '../../../lib/ocr/input.ts'
import type { AdapterInput } from '../../../lib/providers/provider.ts'

const ask: AdapterInput<OcrInput> = {
  request: { model: 'mistral/m', document: { kind: 'address', url: 'https://e.example/a', isImage: false } },
  route: { providerId: 'mistral', model: 'm', modelId: 'mistral/m' },
  quirks: {},
  streamed: false
}

t.test('selected pages keep their numbers', async t => {
  const request = { ...ask, request: { ...ask.request, selected: [1, 3, 7] } }
  const numbersOf = (...indexes: number[]): unknown =>
    readResponse(mistralOcr, { pages: indexes.map(index => ({ index, markdown: '' })) }, request)
      .map(({ result }) => result.pages.map(({ index }) => index))
  t.same(numbersOf(7, 1, 3), [[1, 3, 7]])
  t.same(numbersOf(1, 7), [[1, 7]], 'also without one of them')
  t.same(numbersOf(2, 4, 8), [[1, 3, 7]], 'by their places, for a provider that counts from 1')
})

t.test('pages are in order and counted from 0, however the provider counts', async t => {
  const read = (...pages: unknown[]): unknown => readResponse(mistralOcr, { pages }, ask)
  const expected = [
    {
      type: 'result',
      result: {
        pages: [
          { index: 0, markdown: 'a' },
          { index: 1, markdown: 'b' }
        ]
      },
      units: { pages: 2 }
    }
  ]
  t.same(read({ index: 2, markdown: 'b' }, { index: 1, markdown: 'a' }), expected)
  t.same(read({ markdown: 'a' }, { markdown: 'b' }), expected, 'as they stand, where none has a number')
  t.match(read({ index: 1 }, { index: 2, markdown: null }), [
    {
      result: {
        pages: [
          { index: 0, markdown: '' },
          { index: 1, markdown: '' }
        ]
      }
    }
  ])
  const bodies = [null, 'text', {}, ...[{}, [], [null], [{ markdown: 5 }]].map(pages => ({ pages }))]
  for (const body of bodies) {
    t.throws(
      () => readResponse(mistralOcr, body, ask),
      { code: 'upstream_invalid_response' },
      JSON.stringify(body)
    )
  }
  const busy = { error: { message: 'busy', code: 503 } }
  t.throws(() => readResponse(mistralOcr, busy, ask), { code: 'upstream_overloaded' })
})

t.test('an address is sent as the declared type', async t => {
  const body = (asImage?: boolean): unknown => {
    const request = { ...ask.request, ...asImage !== undefined && { asImage } }
    return JSON.parse(String(mistralOcr.request({ ...ask, request }).body))
  }
  t.match(body(), { model: 'm', document: { type: 'document_url', document_url: 'https://e.example/a' } })
  t.match(body(true), { document: { type: 'image_url', image_url: 'https://e.example/a' } })
})
