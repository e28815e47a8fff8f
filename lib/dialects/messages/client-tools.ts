/** Anthropic tools that the client runs: other providers' models can use them if given their schemas. */

import type { FunctionDefinition } from '../../../schemas/tools.ts'

type Definition = Omit<FunctionDefinition, 'name'>

const text = (description: string) => ({ type: 'string', description })
const number = (description: string) => ({ type: 'integer', description })

const bash: Definition = {
  description: 'Runs a command in a bash shell that keeps its state between calls.',
  parameters: {
    type: 'object',
    properties: {
      command: text('The command to run. Required unless the shell is restarted.'),
      restart: { type: 'boolean', description: 'True: restart the shell.' }
    }
  }
}

const edits = {
  path: text('Path of the file or directory.'),
  file_text: text('For `create`: the content of the file.'),
  old_str: text('For `str_replace`: the text to replace, which must occur exactly once.'),
  new_str: text(
    'For `str_replace`: the text to put in its place. For `insert`, where `insert_text` is not known: the text to insert.'
  ),
  insert_line: number('For `insert`: the line after which to insert; 0 for the beginning.'),
  insert_text: text('For `insert`: the text to insert.'),
  view_range: {
    type: 'array',
    items: { type: 'integer' },
    description: 'For `view`: first and last line; -1 for the end.'
  }
}

const textEditor: Definition = {
  description: 'Views and edits text files.',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] }, ...edits },
    required: ['command', 'path']
  }
}

const memory: Definition = {
  description: 'Keeps notes in files below /memories that outlive the conversation.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      ...edits,
      old_path: text('For `rename`: the current path.'),
      new_path: text('For `rename`: the new path.')
    },
    required: ['command']
  }
}

const definitions: ReadonlyArray<readonly [RegExp, string, Definition]> = [
  [/^bash_\d{8}$/, 'bash', bash],
  [/^text_editor_\d{8}$/, 'str_replace_based_edit_tool', textEditor],
  [/^memory_\d{8}$/, 'memory', memory]
]

/** Returns an Anthropic tool as a function; `undefined` if only Anthropic can run or describe it. */
export function clientTool (type: string, name: unknown): FunctionDefinition | undefined {
  const [, usualName = '', definition] = definitions.find(([pattern]) => pattern.test(type)) ?? []
  return definition && { name: typeof name === 'string' && name !== '' ? name : usualName, ...definition }
}
