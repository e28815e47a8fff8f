import t from 'tap'
import { imageUsage, readImageResponse } from '../../../lib/providers/openai/image-response.ts'
import { ProviderFailure } from '../../../lib/providers/provider-failure.ts'

t.test('an answer without images is valid, one with neither images nor a time is not', async t => {
  t.same(readImageResponse({ created: 7.9 }), [
    { type: 'image-answer', createdSeconds: 7, data: [], about: {} }
  ])
  t.match(
    readImageResponse({ data: [{ url: 'u', b64_json: 5 }, null], size: '1x1', quality: null, other: 1 }),
    [{ data: [{ url: 'u' }], about: { size: '1x1' } }]
  )
  t.match(
    readImageResponse({ created: 7, data: [{ url: 'u' }], usage: { cost_in_usd_ticks: 200_000_000 } }),
    [{ data: [{ url: 'u' }], about: { usage: undefined } }],
    'a price is no usage'
  )
  const others = [{ data: {} }, { created: 7, data: 'u' }, { data: [{ url: '' }] }]
  for (const body of [null, [], 'text', {}, ...others]) {
    t.throws(() => readImageResponse(body), { code: 'upstream_invalid_response' }, JSON.stringify(body))
  }
  t.throws(
    () => readImageResponse({ data: [{ url: '' }], usage: { input_tokens: 2, output_tokens: 3 } }),
    { code: 'upstream_invalid_response', usage: { promptTokens: 2, completionTokens: 3 } },
    'what it used is known though it has no image'
  )
  t.throws(() => readImageResponse({ error: { message: 'busy', code: 503 } }), ProviderFailure)
})

t.test('what is said about the images has the promised form, whatever the provider wrote', async t => {
  const [answer] = readImageResponse({
    created: 7,
    data: [{ url: 'u' }],
    size: 1024,
    quality: { name: 'high' },
    background: 'opaque',
    output_format: true,
    usage: {
      input_tokens: 5,
      output_tokens: '7',
      cost: 3,
      input_tokens_details: null,
      output_tokens_details: { image_tokens: 6, text_tokens: 1, note: 'x' }
    }
  })
  t.strictSame(answer, {
    type: 'image-answer',
    createdSeconds: 7,
    data: [{ url: 'u' }],
    about: {
      background: 'opaque',
      usage: {
        total_tokens: 12,
        input_tokens: 5,
        output_tokens: 7,
        output_tokens_details: { text_tokens: 1, image_tokens: 6 }
      }
    }
  })
})

t.test('a missing total is the sum, and without counts there is no usage', async t => {
  t.same(imageUsage({ input_tokens: 2, output_tokens: 3, input_tokens_details: { image_tokens: 1 } }), {
    promptTokens: 2,
    completionTokens: 3,
    totalTokens: 5,
    promptImageTokens: 1
  })
  t.equal(imageUsage({ total_tokens: 9 }), undefined, 'a total alone would cost nothing')
  t.same(
    imageUsage({ input_tokens: '2', output_tokens: '3' }),
    { promptTokens: 2, completionTokens: 3, totalTokens: 5 },
    'numbers as text'
  )
  for (const usage of [undefined, null, {}, { input_tokens: 'x' }]) t.equal(imageUsage(usage), undefined)
})
