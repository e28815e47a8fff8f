import t from 'tap'
import { toImages } from '../../lib/images/complete.ts'
import { route, routedCall } from '../support/stages.ts'
import type { ImageEvent } from '../../lib/core/events.ts'
import type { ImageUsage } from '../../schemas/images.ts'

const batch = (...events: ImageEvent[]) => ({ call: routedCall({}), route, events })

t.test('the images of several requests become one answer with the metadata of the first', async t => {
  const answer = toImages([
    batch({ type: 'image-answer', createdSeconds: 7, data: [{ b64_json: 'a' }], about: { size: '1x1' } }),
    batch(
      {
        type: 'image-answer',
        createdSeconds: 9,
        data: [{ url: 'b', revised_prompt: 'c' }],
        about: { size: '2x2' }
      },
      { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } }
    )
  ])
  t.strictSame(answer, {
    created: 7,
    data: [{ b64_json: 'a' }, { url: 'b', revised_prompt: 'c' }],
    size: '1x1'
  })
})

t.test('the usage of an answer is that of all its requests, or absent', async t => {
  const answer = (usage?: ImageUsage): ImageEvent =>
    ({ type: 'image-answer', createdSeconds: 7, data: [], about: usage === undefined ? {} : { usage } })
  const counts = { total_tokens: 5, input_tokens: 2, output_tokens: 3 }
  const details = { input_tokens_details: { text_tokens: 2 }, output_tokens_details: { image_tokens: 3 } }
  const usageOf = (...events: ImageEvent[]): unknown => toImages(events.map(event => batch(event))).usage
  t.strictSame(usageOf(answer({ ...counts, ...details })), { ...counts, ...details })
  t.strictSame(usageOf(answer({ ...counts, ...details }), answer({ ...counts, ...details })), {
    total_tokens: 10,
    input_tokens: 4,
    output_tokens: 6,
    input_tokens_details: { text_tokens: 4, image_tokens: 0 },
    output_tokens_details: { text_tokens: 0, image_tokens: 6 }
  })
  t.strictSame(usageOf(answer({ ...counts, ...details }), answer(counts)), {
    total_tokens: 10, input_tokens: 4, output_tokens: 6
  })
  for (const events of [[answer(), answer(counts)], [answer(counts), answer()], [answer()], []]) {
    t.equal(usageOf(...events), undefined)
  }
})

t.test('a stream is folded where a complete answer was requested: finished images only', async t => {
  const before = Math.floor(Date.now() / 1000)
  const answer = toImages([
    batch(
      { type: 'image-partial', json: '{"b64_json":"p"}' },
      { type: 'image-end', json: '{"b64_json":"e","size":"1x1"}', about: { size: '1x1' } }
    )
  ])
  t.ok(answer.created >= before && answer.created <= Date.now() / 1000)
  t.strictSame({ ...answer, created: 0 }, { created: 0, data: [{ b64_json: 'e' }], size: '1x1' })
})

t.test('an answer without images has an empty list; a frame that is not JSON is an error', async t => {
  t.match(toImages([]), { data: [] })
  t.match(toImages([batch({ type: 'image-end', json: 'null' })]), { data: [{}] })
  t.throws(() => toImages([batch({ type: 'image-end', json: '{' })]), { code: 'upstream_invalid_response' })
})
