import t from 'tap'
import catalogue from '../../lib/models/catalogue.json' with { type: 'json' }
import { fitTuning } from '../../lib/chat/effort.ts'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits, limitOutput, mergeTraits } from '../../lib/models/traits.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

t.test('a family is found by the name at the provider and its kind', async t => {
  t.match(familyTraits(families, 'anthropic', 'claude-opus-5-20260101'), { forcedTools: true })
  t.equal(familyTraits(families, 'openai', 'claude-opus-5'), undefined)
  t.match(
    familyTraits(families, 'vllm', 'whisper-large-v3'),
    { transcription: { translation: true } },
    'some are of any kind'
  )
  t.equal(familyTraits(families, undefined, 'claude-opus-5'), undefined)
})

t.test('of a duplicate trait the second wins, and sections are merged', async t => {
  const base = { sampling: true, embeddings: { dimensions: 3 }, images: { maxImages: 1 } }
  // sections as they come
  t.strictSame(
    mergeTraits(base, {
      sampling: false,
      embeddings: { tokensPerInput: 8 },
      speech: { voices: true }
    } as never),
    {
      sampling: false,
      embeddings: { dimensions: 3, tokensPerInput: 8 },
      images: { maxImages: 1 },
      speech: { voices: true }
    }
  )
})

t.test('merging with nothing changes nothing', async t => {
  const traits = { sampling: true }
  t.equal(mergeTraits(undefined, traits), traits)
  t.equal(mergeTraits(traits, undefined), traits)
  t.equal(mergeTraits(undefined, undefined), undefined)
})

t.test('the lower of two limits of an answer holds', async t => {
  t.strictSame(limitOutput({ sampling: true, maxOutputTokens: 9 }, 5), { sampling: true, maxOutputTokens: 5 })
  t.strictSame(limitOutput({ maxOutputTokens: 5 }, 9), { maxOutputTokens: 5 })
  t.strictSame(limitOutput(undefined, 9), { maxOutputTokens: 9 })
  t.equal(limitOutput(undefined, undefined), undefined)
})

t.test('efforts, sampling and penalties are those of the family', async t => {
  const sent = (kind: ProviderKind, model: string, request: Partial<ChatInput>): object => {
    const {
      model: _,
      messages: __,
      ...rest
    } = fitTuning({ model, messages: [], ...request }, familyTraits(families, kind, model))
    return rest
  }
  const tuned = { temperature: 0.3, presence_penalty: 0, frequency_penalty: 0 }
  t.strictSame(sent('groq', 'qwen/qwen3.8-27b', { reasoning_effort: 'low' }), {})
  t.strictSame(sent('groq', 'qwen/qwen3.8-27b', { reasoning_effort: 'none' }), { reasoning_effort: 'none' })
  t.strictSame(sent('groq', 'openai/gpt-oss-20b', { reasoning_effort: 'max' }), { reasoning_effort: 'high' })
  t.strictSame(sent('xai', 'grok-4.6', { ...tuned, reasoning_effort: 'minimal' }), {
    reasoning_effort: 'low',
    temperature: 0.3
  })
  t.strictSame(sent('xai', 'grok-4-0709', { reasoning_effort: 'high' }), {})
  t.strictSame(sent('xai', 'grok-4.5', { reasoning_effort: 'none' }), { reasoning_effort: 'low' })
  t.strictSame(sent('xai', 'grok-4-fast-non-reasoning', { ...tuned, reasoning_effort: 'high' }), tuned)
  t.strictSame(sent('openai', 'gpt-5-mini', { ...tuned, reasoning_effort: 'none' }), {
    reasoning_effort: 'minimal'
  })
  t.strictSame(sent('openai', 'o4-mini', { ...tuned, reasoning_effort: 'max' }), {
    reasoning_effort: 'high'
  })
  t.strictSame(sent('openai', 'gpt-5.1', { ...tuned }), { temperature: 0.3 })
  t.strictSame(sent('openai', 'gpt-5.2', { ...tuned, reasoning_effort: 'max' }), {
    reasoning_effort: 'xhigh'
  })
  t.strictSame(sent('openai', 'gpt-6-astra', { reasoning_effort: 'max' }), { reasoning_effort: 'max' })
  for (const model of ['gpt-6.1-sol', 'gpt-6.2-sol', 'gpt-6.2-astra']) {
    t.strictSame(sent('openai', model, { reasoning_effort: 'none' }), { reasoning_effort: 'low' }, model)
  }
  t.strictSame(sent('openai', 'gpt-4.1', { ...tuned, reasoning_effort: 'low' }), tuned)
  t.strictSame(sent('openai', 'gpt-5-chat-latest', tuned), tuned)
  t.strictSame(sent('ollama', 'qwen3.8', { reasoning_effort: 'minimal' }), { reasoning_effort: 'low' })
  t.strictSame(sent('ollama', 'qwen3.8', { reasoning_effort: 'xhigh' }), { reasoning_effort: 'high' })
  t.strictSame(sent('ollama', 'gpt-oss:20b', { reasoning_effort: 'max' }), { reasoning_effort: 'max' })
  for (const model of [
    'mistral-small-latest', 'mistral-small-2603', 'mistral-medium', 'mistral-medium-latest',
    'mistral-medium-2604', 'mistral-medium-3.5', 'mistral-medium-3-5', 'magistral-medium-latest'
  ]) {
    t.strictSame(sent('mistral', model, { reasoning_effort: 'low' }), { reasoning_effort: 'high' }, model)
    t.strictSame(sent('mistral', model, { reasoning_effort: 'none' }), { reasoning_effort: 'none' }, model)
  }
  for (const model of [
    'mistral-large-latest', 'mistral-large-2512', 'mistral-medium-2508', 'mistral-small-2506',
    'codestral-latest', 'devstral-2512', 'ministral-8b-latest', 'open-mistral-nemo'
  ]) t.strictSame(sent('mistral', model, { reasoning_effort: 'high' }), {}, model)
})

t.test("OpenAI's models that reason take no stop sequences, its other models do", async t => {
  const stop = (model: string): boolean | undefined => familyTraits(families, 'openai', model)?.stop
  for (const model of [
    'gpt-5', 'gpt-5-mini', 'gpt-5-pro', 'gpt-5-codex', 'gpt-5.1', 'gpt-5.1-codex-max', 'gpt-5.2',
    'gpt-5.4-nano', 'gpt-5.6-sol', 'gpt-6-astra', 'o1-pro', 'o3', 'o4-mini', 'o3-deep-research'
  ]) t.equal(stop(model), false, model)
  for (const model of [
    'gpt-4.1', 'gpt-4o', 'gpt-3.5-turbo', 'gpt-5-chat-latest', 'gpt-5.2-chat-latest', 'o1', 'o3-mini'
  ]) {
    t.equal(stop(model), undefined, model)
  }
})

t.test('each rule of a family states its source and date', async t => {
  for (const { match, source, as_of: asOf } of catalogue.families) {
    t.match(source, /https:\/\//, match)
    t.match(asOf, /^20\d\d-\d\d-\d\d$/, match)
  }
})
