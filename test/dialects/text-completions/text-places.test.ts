import t from 'tap'
import { completionRequestTexts } from '../../../lib/dialects/text-completions/text-places.ts'
import { TextCompletionRequest } from '../../../schemas/text-completions.ts'
import { countSeen, forgottenTexts } from '../../support/schema-texts.ts'

t.test('every string of a request is inspected, or exempt for a stated reason', t => {
  t.same(forgottenTexts(TextCompletionRequest, completionRequestTexts), [])
  t.ok(countSeen(TextCompletionRequest, completionRequestTexts) >= 5)
  t.end()
})
