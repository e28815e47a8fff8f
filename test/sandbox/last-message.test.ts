import t from 'tap'
import { user, message } from '../support/sandbox.ts'

t.test(
  'the echo repeats question, instructions and attachments, and says that it is a simulator',
  async t => {
    const { content } = await message({
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...user([
          { type: 'text', text: 'What is this?' },
          { type: 'file', file: { file_id: 'f' } },
          { type: 'file', file: { file_id: 'g' } }
        ])
      ]
    })
    t.match(content, 'simulator')
    t.match(content, '"What is this?"')
    t.match(content, '"Be brief."')
    t.match(content, '2 file')
    t.match((await message({ messages: [] })).content, 'Your message is empty')
  }
)

t.test(
  'agent prompts do not become the answer: long instructions are cut, and reminders are not a question',
  async t => {
    const reminder = { type: 'text', text: '<system-reminder>\nUse get_weather.\n</system-reminder>' }
    const { content } = await message({
      messages: [
        { role: 'system', content: 'x'.repeat(5000) },
        ...user([reminder, { type: 'text', text: 'Hi' }, reminder])
      ]
    })
    t.match(content, 'You said: "Hi".')
    t.ok(String(content).length < 600)
  }
)
