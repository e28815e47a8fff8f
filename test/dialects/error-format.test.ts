import t from 'tap'
import { chatCompletionsErrors } from '../../lib/dialects/chat-completions/errors.ts'
import { errorFormatOf } from '../../lib/dialects/error-format.ts'
import { messagesErrors } from '../../lib/dialects/messages/errors.ts'
import { responsesErrors } from '../../lib/dialects/responses/errors.ts'

t.test('errors have the format of the API that the path belongs to', async t => {
  const ofAnthropic = { 'anthropic-version': '2023-06-01' }
  for (const [path, headers, format] of [
    ['/v1/chat/completions', {}, chatCompletionsErrors],
    ['/v1/messages', {}, messagesErrors],
    ['/v1/messages/count_tokens', {}, messagesErrors],
    ['/v1/messagesx', {}, chatCompletionsErrors],
    ['/v1/responses', {}, responsesErrors],
    ['/v1/responses/resp_1', ofAnthropic, responsesErrors],
    ['/v1/files', ofAnthropic, messagesErrors],
    ['/v1/models', {}, chatCompletionsErrors],
    ['/', {}, chatCompletionsErrors]
  ] as const) t.equal(errorFormatOf(path, headers), format, path)
})
