import t from 'tap'
import { embeddingsRequestTexts } from '../../lib/embeddings/text-places.ts'
import { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import { countSeen, forgottenTexts } from '../support/schema-texts.ts'

t.test('every string of a request is inspected, or exempt for a stated reason', t => {
  t.same(forgottenTexts(EmbeddingsRequest, embeddingsRequestTexts), [])
  t.equal(countSeen(EmbeddingsRequest, embeddingsRequestTexts), 5)
  t.end()
})
