import t from 'tap'
import { readImageStream } from '../../../lib/providers/openai/image-stream.ts'
import type { ImageEvent } from '../../../lib/core/events.ts'

const usage = { input_tokens: 2, output_tokens: 3 }
const used = { promptTokens: 2, completionTokens: 3, totalTokens: 5 }
const message = (name: string, image: string): { id: undefined, event: string, data: string } => ({
  id: undefined,
  event: `image_generation.${name}`,
  data: JSON.stringify({ type: `image_generation.${name}`, b64_json: image, usage })
})

t.test('the usage of a stream is known with each image, and without one', async t => {
  const reader = readImageStream({
    request: {}, route: { providerId: 'x', model: 'm', modelId: 'x/m' }, quirks: {}, streamed: true
  })
  const events: ImageEvent[] = []
  reader.read(message('completed', ''), events)
  t.same(events.splice(0), [{ type: 'usage', usage: used }])
  t.throws(() => reader.end(events), { code: 'upstream_stream_interrupted' })
  reader.read(message('partial_image', 'AAAA'), events)
  t.match(events.splice(0), [{ type: 'image-partial' }])
  reader.read(message('completed', 'AAAA'), events)
  t.match(events, [
    { type: 'image-end' },
    { type: 'usage', usage: { promptTokens: 4, completionTokens: 6, totalTokens: 10 } }
  ])
})
