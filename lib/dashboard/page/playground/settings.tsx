/** The settings sent with every message: system prompt, tools and parameters. */

import type { JSX } from 'preact'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Select } from '../parts/select.tsx'
import { TagInput } from '../parts/tag-input.tsx'
import { toolServers } from '../state/catalogue.ts'
import { projectChoices } from '../state/names.ts'
import { parameters, project, servers, system } from './conversation.ts'
import { ParametersForm } from './parameters-form.tsx'

const first = ['temperature', 'max_completion_tokens', 'reasoning_effort', 'response_format']
const without = [
  'model',
  'messages',
  'input',
  'instructions',
  'system',
  'system_instruction',
  'stream',
  'stream_options',
  'mcp_servers',
  'deferred',
  'max_tokens',
  'functions',
  'function_call',
  'n',
  'credentials',
  'guardrails',
  'handoff_config',
  'cachedContent',
  'auto_execute_tools'
]

export function Settings (): JSX.Element {
  return (
    <div class='stack'>
      {projectChoices().length > 1 && (
        <Select
          label='Project'
          value={project.value}
          choices={projectChoices()}
          onChange={value => {
            project.value = value
          }}
          hint='Its limits hold, and it is billed.'
        />
      )}
      <Field label='System prompt' optional>
        {control => (
          <textarea
            {...control}
            class='textarea'
            rows={4}
            placeholder='You are …'
            value={system.value}
            onInput={event => {
              system.value = event.currentTarget.value
            }}
          />
        )}
      </Field>
      <TagInput
        label='Tool servers'
        optional
        values={servers.value}
        onChange={values => {
          servers.value = values
        }}
        suggestions={toolServers.value}
        placeholder='org/name or https://…'
        hint='The gateway runs their tools, and shows each call.'
      />
      <ParametersForm
        schema='ChatRequest'
        values={parameters.value}
        onChange={values => {
          parameters.value = values
        }}
        first={first}
        without={without}
      />
      {Object.keys(parameters.value).length > 0 && (
        <Button
          small
          kind='plain'
          icon='close'
          onClick={() => {
            parameters.value = {}
          }}
        >
          Reset parameters
        </Button>
      )}
    </div>
  )
}
