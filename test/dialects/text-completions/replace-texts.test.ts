import t from 'tap'
import { replaceCompletionTexts } from '../../../lib/dialects/text-completions/replace-texts.ts'
import { textInput } from '../../../lib/dialects/text-completions/input.ts'
import { routedCall } from '../../support/stages.ts'
import type { TextInput } from '../../../lib/chat/input.ts'
import type { RoutedCall } from '../../../lib/core/call.ts'

t.test('a prompt is inspected once, and replaced both as text and as a message', t => {
  // with its routes
  const call = textInput(
    routedCall({ model: 'm', prompt: 'hi x', suffix: 'x end', stop: 'x', max_tokens: 7, echo: true })
  ) as unknown as RoutedCall<TextInput>
  const seen: string[] = []
  const { request } = replaceCompletionTexts(call, text => {
    seen.push(text)
    return text.replace('x', 'X')
  })
  t.match(request, {
    text: { prompt: 'hi X', suffix: 'X end', echo: true },
    messages: [{ role: 'user', content: 'hi X' }],
    stop: 'X',
    max_tokens: 7
  })
  t.equal(seen.filter(text => text === 'hi x').length, 1)
  // as above
  const same = textInput(routedCall({ model: 'm', prompt: 'hi' })) as unknown as RoutedCall<TextInput>
  t.equal(replaceCompletionTexts(same, text => text), same)
  t.end()
})
