import t from 'tap'
import { transcriptionTraits } from '../../../lib/providers/openai/transcription-traits.ts'

const route = { providerId: 'openai', model: 'm', modelId: 'openai/m' }

t.test(
  'an unknown model is treated as Whisper, and known traits override that field by field',
  async t => {
    const whisper = transcriptionTraits({ ...route, traits: {} })
    t.match(whisper, { streaming: false, logprobs: false, chunking: false, prompt: true, translation: true })
    t.ok(whisper.formats.includes('verbose_json'))
    t.same(
      transcriptionTraits({ ...route, traits: { transcription: { streaming: true, formats: ['json'] } } }),
      {
        ...whisper,
        streaming: true,
        formats: ['json']
      }
    )
  }
)
