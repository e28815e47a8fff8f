import t from 'tap'
import { chatRequestTexts } from '../../../lib/dialects/chat-completions/text-places.ts'
import { ChatRequest } from '../../../schemas/chat.ts'
import { countSeen, forgottenTexts } from '../../support/schema-texts.ts'

t.test('every string of a request is seen, or not seen for a reason', t => {
  t.same(forgottenTexts(ChatRequest, chatRequestTexts), [])
  t.ok(countSeen(ChatRequest, chatRequestTexts) > 20)
  t.end()
})
