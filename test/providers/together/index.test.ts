import t from 'tap'
import { openaiAdapters } from '../../../lib/providers/openai/index.ts'
import { togetherAdapters } from '../../../lib/providers/together/index.ts'

t.test('what Together does not serve is not offered', t => {
  const served = ['chat', 'embeddings', 'images', 'speech', 'transcription', 'translation']
  t.same(Object.keys(togetherAdapters(openaiAdapters)), served)
  t.end()
})
