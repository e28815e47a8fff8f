import t from 'tap'
import { speechRequestTexts } from '../../lib/audio/text-places.ts'
import { SpeechRequest } from '../../schemas/speech.ts'
import { countSeen, forgottenTexts } from '../support/schema-texts.ts'

t.test('every string of a request is seen, or not seen for a reason', t => {
  t.same(forgottenTexts(SpeechRequest, speechRequestTexts), [])
  t.equal(countSeen(SpeechRequest, speechRequestTexts), 2)
  t.end()
})
