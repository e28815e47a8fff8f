import t from 'tap'
import { candidatesAsChoices } from '../../../lib/providers/google/generation-config.ts'
import { googleAsk, googleBody } from '../../support/google.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

t.test("settings become a generation config, and the caller's own keys override them one by one", async t => {
  const config = (request: Partial<ChatInput>, model?: string): unknown =>
    googleBody(request, model).generationConfig
  t.same(
    config({
      max_tokens: 5,
      max_completion_tokens: 7,
      temperature: 2,
      top_p: 0,
      top_k: 4,
      stop: ['a', ''],
      seed: 2 ** 32 + 5,
      n: 3,
      logprobs: true,
      top_logprobs: 2
    }),
    {
      maxOutputTokens: 7,
      temperature: 2,
      topP: 0,
      topK: 4,
      stopSequences: ['a'],
      seed: 5,
      candidateCount: 3,
      responseLogprobs: true,
      logprobs: 2
    }
  )
  t.same(config({ top_k: 0 }), undefined, 'no limit is not a limit of zero')
  t.same(config({ presence_penalty: 1 }, 'gemini-2.0-flash'), { presencePenalty: 1 })
  t.same(config({ presence_penalty: 1 }, 'gemini-2.5-pro'), undefined, 'it would be refused there')
  t.same(
    config({
      temperature: 0.5,
      top_p: 0.1,
      generation_config: {
        top_p: 0.9,
        max_output_tokens: 3,
        maxOutputTokens: 4,
        topK: null,
        brand_new_key: { inner_key: 1 },
        response_json_schema: {
          type: 'object',
          required: ['city_name'],
          property_ordering: ['city_name'],
          properties: { city_name: { any_of: [{ enum: [{ a_b: 1 }] }] }, enum: { min_items: 1 } }
        }
      }
    }),
    {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 4,
      brandNewKey: { innerKey: 1 },
      responseJsonSchema: {
        type: 'object',
        required: ['city_name'],
        propertyOrdering: ['city_name'],
        properties: { city_name: { anyOf: [{ enum: [{ a_b: 1 }] }] }, enum: { minItems: 1 } }
      }
    }
  )
})

t.test('reasoning effort becomes a budget, a level or nothing, by model', async t => {
  const thinking = (
    model: string,
    effort: NonNullable<ChatInput['reasoning_effort']>,
    own?: object
  ): unknown =>
    googleBody({ reasoning_effort: effort, ...own && { generation_config: { ...own } } }, model)
      .generationConfig?.thinkingConfig
  t.same(thinking('gemini-2.5-flash', 'low'), { includeThoughts: true, thinkingBudget: 1024 })
  t.same(thinking('gemini-2.5-pro', 'high'), { includeThoughts: true, thinkingBudget: 24576 })
  t.same(thinking('gemini-2.5-flash', 'none'), { includeThoughts: false, thinkingBudget: 0 })
  t.same(thinking('gemini-2.5-pro', 'none'), undefined, 'it cannot be switched off there')
  t.same(thinking('gemini-3-pro-preview', 'xhigh'), { includeThoughts: true, thinkingLevel: 'HIGH' })
  t.same(thinking('gemini-4-argon', 'minimal'), { includeThoughts: true, thinkingLevel: 'LOW' })
  t.same(thinking('gemini-flash-latest', 'medium'), { includeThoughts: true, thinkingLevel: 'MEDIUM' })
  t.same(thinking('gemini-2.0-flash', 'high'), undefined)
  t.same(thinking('gemini-3-flash', 'high', { thinking_config: { thinking_budget: 9 } }), {
    thinkingBudget: 9
  })
})

t.test('a caller who wants to see thinking gets thoughts, also without an effort', async t => {
  const thinking = (request: Partial<ChatInput>, model = 'gemini-2.5-flash'): unknown =>
    googleBody(request, model).generationConfig?.thinkingConfig
  t.same(thinking({ showsThinking: true }), { includeThoughts: true })
  t.same(thinking({ showsThinking: true }, 'gemini-3-pro-preview'), { includeThoughts: true })
  t.same(thinking({ thinking: { type: 'adaptive' } }), { includeThoughts: true })
  t.same(thinking({ thinking: { type: 'adaptive', display: 'omitted' } }), undefined)
  t.same(thinking({ thinking: { type: 'disabled' } }), undefined)
  t.same(thinking({}), undefined)
  t.same(thinking({ showsThinking: true }, 'gemini-2.0-flash'), undefined, 'it does not think')
})

t.test('a candidate count sets the number of choices', async t => {
  const choices = (request: Partial<ChatInput>): unknown => {
    const { n, generation_config: config } = candidatesAsChoices(googleAsk(request)).request
    return [n, config]
  }
  t.same(choices({ n: 3, generation_config: { candidate_count: 8, topP: 1 } }), [8, { topP: 1 }])
  t.same(choices({ generation_config: { candidateCount: '2' } }), [2, {}])
  for (const config of [
    { candidateCount: 129 },
    { candidateCount: 1.5 },
    { candidateCount: 'two' },
    { candidateCount: -1 },
    { topP: 1 },
    undefined
  ]) {
    t.same(
      choices({ n: 3, ...config && { generation_config: config } }),
      [3, config],
      'what is none is left to the provider'
    )
  }
})

t.test("the caller's thinking budget is used, within the range of the model", async t => {
  const thinking = (model: string, budget: number, display?: 'omitted'): unknown =>
    googleBody(
      {
        thinking: { type: 'enabled', budget_tokens: budget, ...display && { display } },
        reasoning_effort: 'low'
      },
      model
    ).generationConfig?.thinkingConfig
  t.same(thinking('gemini-2.5-flash', 2048), { includeThoughts: true, thinkingBudget: 2048 })
  t.same(thinking('gemini-2.5-flash', 64_000), { includeThoughts: true, thinkingBudget: 24_576 })
  t.same(thinking('gemini-2.5-pro', 64_000, 'omitted'), { includeThoughts: false, thinkingBudget: 32_768 })
  t.same(
    thinking('gemini-3-pro-preview', 2048),
    { includeThoughts: true, thinkingLevel: 'LOW' },
    'which takes none'
  )
})

t.test('the schema of an answer has only keywords that the provider supports', async t => {
  const config = (format: NonNullable<ChatInput['response_format']>): unknown =>
    googleBody({ response_format: format }).generationConfig
  const ofSchema = (schema: Record<string, unknown>): unknown =>
    config({ type: 'json_schema', json_schema: { name: 's', schema } })
  t.same(config({ type: 'text' }), undefined)
  t.same(config({ type: 'json_object' }), { responseMimeType: 'application/json' })
  t.same(config({ type: 'json_schema', json_schema: { name: 's' } }), {
    responseMimeType: 'application/json'
  })
  t.same(
    ofSchema({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      additionalProperties: false,
      required: ['unit'],
      properties: {
        unit: { const: 'km', minLength: 1 },
        piers: { type: 'array', items: { $ref: '#/definitions/pier' } }
      },
      definitions: { pier: { type: 'string', pattern: '^P' } }
    }),
    {
      responseMimeType: 'application/json',
      responseJsonSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['unit'],
        properties: { unit: { enum: ['km'] }, piers: { type: 'array', items: { $ref: '#/$defs/pier' } } },
        $defs: { pier: { type: 'string' } }
      }
    }
  )
  t.match(
    ofSchema({ type: 'array', items: { type: 'string', minLength: 1 } }),
    { responseJsonSchema: { type: 'array', items: { type: 'string' } } },
    'an answer may be any value, parameters only an object'
  )
})
