import t from 'tap'
import { imageFrames } from '../../../lib/stages/images/image-frames.ts'
import { batchesOf, collect, routedCall } from '../../support/stages.ts'
import type { ImageEvent } from '../../../lib/core/events.ts'

async function written (
  prefix: 'image_generation' | 'image_edit',
  ...lists: ImageEvent[][]
): Promise<string[]> {
  const frames = imageFrames(prefix)(batchesOf(routedCall({ stream: true }), lists))
  return (await collect(frames)).map(String)
}

t.test('provider frames are passed on unchanged', async t => {
  t.same(
    await written(
      'image_generation',
      [{ type: 'image-partial', json: '{"b64_json": "A", "note": "größer 🖼" }' }],
      [
        { type: 'image-end', json: '{"b64_json":"B"}' },
        { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
      ]
    ),
    ['data: {"b64_json": "A", "note": "größer 🖼" }\n\n', 'data: {"b64_json":"B"}\n\n', 'data: [DONE]\n\n']
  )
})

t.test('a complete answer becomes a frame for each image', async t => {
  const answer: ImageEvent = {
    type: 'image-answer',
    createdSeconds: 7,
    data: [{ b64_json: 'A' }, { b64_json: 'B' }],
    about: { size: 'x' }
  }
  for (const prefix of ['image_generation', 'image_edit'] as const) {
    const frame = (image: string): string =>
      `data: {"type":"${prefix}.completed","b64_json":"${image}","created_at":7,"size":"x"}\n\n`
    t.same(await written(prefix, [answer]), [frame('A') + frame('B'), 'data: [DONE]\n\n'])
  }
})
