import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { once } from '../../../lib/pipeline/sources.ts'
import type { Stage } from '../../../lib/pipeline/stage.ts'
import { retryAsImage } from '../../../lib/stages/ocr/retry-as-image.ts'
import { collect, route, routedCall } from '../../support/stages.ts'
import type { Batch, RoutedCall } from '../../../lib/core/call.ts'
import type { OcrInput } from '../../../lib/ocr/input.ts'

/** A provider that reports a document that is not a PDF, and records the inputs. */
function provider (code: 'unsupported_format' | 'upstream_error') {
  const inputs: OcrInput[] = []
  const ask: Stage<RoutedCall<OcrInput>, Batch<OcrInput, string>> = async function * (source) {
    for await (const call of source) {
      inputs.push(call.request)
      if (call.request.asImage !== true) throw new GatewayError(code)
      yield { call, route, events: ['pages'] }
    }
  }
  return { inputs, ask }
}

const address: OcrInput = { document: { kind: 'address', url: 'https://a.example/scan', isImage: false } }

t.test('an address that turns out to be an image is requested again as one', async t => {
  const { inputs, ask } = provider('unsupported_format')
  t.match(await collect(retryAsImage(ask)(once(routedCall(address)))), [{ events: ['pages'] }])
  t.same(inputs, [address, { ...address, asImage: true }])
})

t.test('nothing else is sent twice', async t => {
  const bytes: OcrInput = {
    document: { kind: 'bytes', mediaType: 'application/pdf', bytes: Buffer.alloc(1) }
  }
  const image: OcrInput = { document: { kind: 'address', url: 'https://a.example/a.png', isImage: true } }
  for (const [input, code] of [
    [address, 'upstream_error'],
    [bytes, 'unsupported_format'],
    [image, 'unsupported_format']
  ] as const) {
    const { inputs, ask } = provider(code)
    await t.rejects(collect(retryAsImage(ask)(once(routedCall(input)))), { code })
    t.equal(inputs.length, 1)
  }
})
