import t from 'tap'
import {
  camelName,
  generationBounds,
  maxChoicesOf,
  withLowerBound,
  withoutEntry,
  withoutFieldsOf
} from '../../lib/chat/generation-fields.ts'

t.test('both spellings give the same name', async t => {
  t.same(['max_output_tokens', 'maxOutputTokens', 'max_outputTokens', '_a', 'top_p'].map(camelName), [
    'maxOutputTokens',
    'maxOutputTokens',
    'maxOutputTokens',
    '_a',
    'topP'
  ])
})

t.test('limits are read in either spelling, as numbers or as text', async t => {
  for (const config of [
    { maxOutputTokens: 5, candidateCount: 2 },
    { max_output_tokens: 5, candidate_count: 2 },
    { maxOutputTokens: '5', candidateCount: '2' }
  ]) {
    t.same(generationBounds(config), { maxTokens: 5, choices: 2 })
  }
  t.same(
    generationBounds({ max_output_tokens: 3, maxOutputTokens: 4 }),
    { maxTokens: 4 },
    'the last one is used'
  )
  for (const config of [undefined, {}, [], 'x', { maxOutputTokens: null, candidateCount: null }]) {
    t.same(generationBounds(config), {})
  }
  for (const none of [0, -1, 'x', '', {}, true, Infinity]) {
    t.same(generationBounds({ maxOutputTokens: none, candidateCount: none }), { maxTokens: Infinity })
  }
})

t.test('the maximum number of choices is the largest that any provider could read', async t => {
  t.same(
    [
      {},
      { n: 3 },
      { n: 3, generation_config: {} },
      { n: 3, generation_config: { candidate_count: 8 } },
      { n: 3, generation_config: { candidateCount: 1 } }
    ].map(maxChoicesOf),
    [1, 3, 3, 8, 3]
  )
})

t.test('a higher limit is lowered in its own spelling, and none is added', async t => {
  t.same(withLowerBound({ maxOutputTokens: 50, topP: 1 }, 20), { maxOutputTokens: 20, topP: 1 })
  t.same(withLowerBound({ max_output_tokens: '50' }, 20), { max_output_tokens: 20 })
  t.same(withLowerBound({ maxOutputTokens: 0 }, 20), { maxOutputTokens: 20 }, 'a limit of 0 means none')
  for (const config of [{}, { maxOutputTokens: 20 }, { maxOutputTokens: '7' }, { maxOutputTokens: null }]) {
    t.same(withLowerBound(config, 20), config)
  }
})

t.test('entries yield to the equivalent fields', async t => {
  const config = {
    max_output_tokens: 5,
    candidateCount: 2,
    temperature: 0,
    top_p: 0,
    topK: 1,
    stop_sequences: ['a'],
    seed: 1,
    presencePenalty: 1,
    frequency_penalty: 1,
    responseLogprobs: true,
    logprobs: 2,
    thinking_config: {},
    responseMimeType: 'text/plain'
  }
  t.same(withoutFieldsOf(config, {}), config)
  t.same(withoutFieldsOf({ max_output_tokens: 5, candidateCount: 2 }, { max_tokens: 7, n: undefined }), {
    candidateCount: 2
  })
  t.same(
    withoutFieldsOf(config, {
      max_completion_tokens: 7,
      n: 1,
      temperature: 1,
      top_p: 1,
      top_k: 0,
      stop: 'b',
      seed: 2,
      presence_penalty: 0,
      frequency_penalty: 0,
      logprobs: false,
      top_logprobs: 1,
      reasoning_effort: 'none'
    }),
    { responseMimeType: 'text/plain' }
  )
  for (const name of ['responseMimeType', 'response_schema', 'response_json_schema']) {
    t.same(withoutFieldsOf({ [name]: {} }, { response_format: { type: 'text' } }), {}, name)
  }
  t.same(withoutEntry({ candidate_count: 2, candidateCount: 3, topP: 1 }, 'candidateCount'), { topP: 1 })
})
