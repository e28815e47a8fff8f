import t from 'tap'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits, mergeTraits } from '../../lib/models/traits.ts'

t.test('a family is found by the name at the provider and its kind', async t => {
  t.match(familyTraits(families, 'anthropic', 'claude-opus-5-20260101'), { forcedTools: true })
  t.equal(familyTraits(families, 'openai', 'claude-opus-5'), undefined)
  t.match(familyTraits(families, 'vllm', 'whisper-large-v3'), { transcription: { translation: true } }, 'some are of any kind')
  t.equal(familyTraits(families, undefined, 'claude-opus-5'), undefined)
})

t.test('of a trait in both the second counts, and sections are merged', async t => {
  const base = { sampling: true, embeddings: { dimensions: 3 }, images: { maxImages: 1 } }
  t.strictSame(mergeTraits(base, { sampling: false, embeddings: { tokensPerInput: 8 }, speech: { voices: true } } as never), { // sections as they come
    sampling: false, embeddings: { dimensions: 3, tokensPerInput: 8 }, images: { maxImages: 1 }, speech: { voices: true }
  })
})

t.test('one of them alone is all', async t => {
  const traits = { sampling: true }
  t.equal(mergeTraits(undefined, traits), traits)
  t.equal(mergeTraits(traits, undefined), traits)
  t.equal(mergeTraits(undefined, undefined), undefined)
})
