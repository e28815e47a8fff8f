import t from 'tap'
import { embeddingsUsage, estimateEmbeddings } from '../../lib/limits/estimate-embeddings.ts'

t.test('embedding inputs have no answer', async t => {
  const request = { model: 'm', input: [[1, 2, 3], [4]] }
  t.match(estimateEmbeddings(request), { prompt: { typical: 4 }, answer: { typical: 0, limit: 0 } })
  t.strictSame(embeddingsUsage(request), { promptTokens: 4, completionTokens: 0, totalTokens: 4 })
  const texts = { model: 'm', input: ['abcd', 'é', ''] }
  t.equal(estimateEmbeddings(texts).prompt.typical, 2, 'texts by their bytes')
})
