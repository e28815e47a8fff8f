import t from 'tap'
import { clientTool } from '../../../lib/dialects/messages/client-tools.ts'

t.test(
  'tools that the client runs become functions, with the given or the usual name',
  async t => {
    t.match(clientTool('bash_20250124', undefined), {
      name: 'bash',
      parameters: {
        type: 'object',
        properties: { command: { type: 'string' }, restart: { type: 'boolean' } }
      }
    })
    t.match(clientTool('text_editor_20250728', 'edit'), {
      name: 'edit',
      parameters: { required: ['command', 'path'] }
    })
    t.match(clientTool('text_editor_20250728', ''), { name: 'str_replace_based_edit_tool' })
    t.match(clientTool('memory_20250818', undefined), {
      name: 'memory',
      parameters: { properties: { old_path: {}, new_path: {} } }
    })
  }
)

t.test('Anthropic-only tools, and types without a date, are not client tools', async t => {
  for (const type of ['web_search_20250305', 'computer_20250124', 'bash', 'bash_2025', 'custom']) {
    t.equal(clientTool(type, 'x'), undefined, type)
  }
})
