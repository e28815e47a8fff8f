import t from 'tap'
import { countInputs, embeddingsInput, inputsOf } from '../../lib/embeddings/input.ts'
import { routedCall } from '../support/stages.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

t.test('an input is a text, its tokens, or a list of either', async t => {
  for (const [input, inputs] of [
    ['a', ['a']],
    [[1, 2], [[1, 2]]],
    [
      ['a', 'b'],
      ['a', 'b']
    ],
    [
      [[1], [2, 3]],
      [[1], [2, 3]]
    ]
  ] as const) {
    t.same(inputsOf(input as EmbeddingsRequest['input']), inputs)
    t.equal(countInputs(input as EmbeddingsRequest['input']), inputs.length)
  }
})

t.test('only supported fields are passed on', async t => {
  // any value that a caller may send
  const request = {
    input: ['a'],
    model: ['m'],
    encoding_format: 'base64',
    dimensions: 3,
    user: 'u',
    stream: true,
    more: 1
  } as unknown as EmbeddingsRequest
  t.strictSame(embeddingsInput(routedCall(request)).request, {
    input: ['a'],
    model: ['m'],
    encoding_format: 'base64',
    dimensions: 3,
    user: 'u'
  })
  t.strictSame(embeddingsInput(routedCall<EmbeddingsRequest>({ input: 'a', model: 'm' })).request, {
    input: 'a',
    model: 'm'
  })
})

t.test('an empty text in a list is refused with its position', async t => {
  t.throws(() => embeddingsInput(routedCall<EmbeddingsRequest>({ input: ['a', 'b', ''], model: 'm' })), {
    code: 'invalid_value', param: 'input', message: 'The text at index 2 of `input` is empty.'
  })
})

t.test('a single model must be named, since vectors of several models cannot be compared', async t => {
  t.throws(() => embeddingsInput(routedCall<EmbeddingsRequest>({ input: 'a', model: ['a', 'b'] })), {
    code: 'invalid_value',
    param: 'model'
  })
})
