/** The fields of a key: its name first, what it may do and use behind a fold. */

import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { LimitsFields } from '../limits/limits-fields.tsx'
import { Fold } from '../parts/fold.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import { TagInput } from '../parts/tag-input.tsx'
import { endpointNames, loadCatalogue, modelPatterns, toolServers } from '../state/catalogue.ts'
import { projectChoices } from '../state/names.ts'
import type { KeyDraft } from './key-draft.ts'

export interface KeyFieldsProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly error: ApiError | undefined
  /** A key stays in its project. */
  readonly isNew: boolean
}

const expiries = [
  { value: 'never', label: 'Never' }, { value: '7', label: 'In 7 days' }, { value: '30', label: 'In 30 days' }, { value: '90', label: 'In 90 days' }, { value: 'date', label: 'On a date' }
] as const

export function KeyFields ({ draft, onChange, error, isNew }: KeyFieldsProps): JSX.Element {
  useEffect(() => { void loadCatalogue() }, [])
  const set = (change: Partial<KeyDraft>): void => onChange({ ...draft, ...change })
  const fields = error?.fields ?? {}
  return (
    <>
      <div class='columns'>
        <Input label='Name' placeholder='Production' value={draft.name} onInput={name => set({ name })} error={fields.name} required autofocus maxLength={100} autocomplete='off' />
        {isNew && projectChoices().length > 1 && (
          <Select label='Project' value={draft.project} choices={projectChoices()} onChange={project => set({ project })} error={fields.project_id} />
        )}
      </div>
      <div class='columns'>
        <Select
          label='Expires' value={draft.expiry} choices={expiries}
          onChange={value => set({ expiry: expiries.find(choice => choice.value === value)?.value ?? 'never' })}
        />
        {draft.expiry === 'date' && <Input label='Last day' type='date' value={draft.expiryDate} onInput={expiryDate => set({ expiryDate })} hint='In UTC.' error={fields.expires_at_ms} required />}
      </div>
      <LimitsFields draft={draft.limits} onChange={limits => set({ limits })} error={error} />
      <Fold title='Permissions' note={permissionsNote(draft)}>
        <TagInput
          label='Endpoints' values={draft.endpoints} onChange={endpoints => set({ endpoints })} suggestions={endpointNames}
          placeholder='All endpoints' error={fields.endpoints}
        />
        <TagInput
          label='Models' values={draft.models} onChange={models => set({ models })} suggestions={modelPatterns()}
          placeholder='All models' hint='Ids, or patterns such as openai/*.' error={fields.models}
        />
        <TagInput
          label='Tool servers' values={draft.toolServers} onChange={toolServers => set({ toolServers })} suggestions={toolServers.value}
          placeholder='All tool servers' error={fields.mcp_servers}
        />
      </Fold>
    </>
  )
}

function permissionsNote ({ endpoints, models, toolServers }: KeyDraft): string {
  return [...endpoints, ...models, ...toolServers].length === 0 ? 'Everything' : 'Limited'
}
