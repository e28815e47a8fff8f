/** The fields of a key: its name first, its permissions in a collapsed section. */

import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { limitFieldNames } from '../limits/limits-draft.ts'
import { LimitsFields } from '../limits/limits-fields.tsx'
import { Check } from '../parts/check.tsx'
import { Fold } from '../parts/fold.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import { ScopeInput } from '../parts/scope-input.tsx'
import { TagInput } from '../parts/tag-input.tsx'
import {
  grantedEndpoints,
  loadCatalogue,
  modelPatterns,
  stageNames,
  toolServers
} from '../state/catalogue.ts'
import { projectChoices } from '../state/names.ts'
import { may } from '../state/session.ts'
import { namesAllServers, type KeyDraft } from './key-draft.ts'

/** The fields that show their errors in every state of the form. */
export const keyFieldNames: readonly string[] = ['name', ...limitFieldNames]

export interface KeyFieldsProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly error: ApiError | undefined
  /** A key stays in its project. */
  readonly isNew: boolean
}

const expiries = [
  { value: 'never', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: 'date', label: 'On a date' }
] as const

export function KeyFields ({ draft, onChange, error, isNew }: KeyFieldsProps): JSX.Element {
  useEffect(() => {
    void loadCatalogue()
  }, [])
  const set = (change: Partial<KeyDraft>): void => onChange({ ...draft, ...change })
  const fields = error?.fields ?? {}
  return (
    <>
      <div class='columns'>
        <Input
          label='Name'
          placeholder='Production'
          value={draft.name}
          onInput={name => set({ name })}
          error={fields.name}
          required
          autofocus
          maxLength={100}
          autocomplete='off'
        />
        {isNew && projectChoices().length > 1 && (
          <Select
            label='Project'
            value={draft.project}
            choices={projectChoices()}
            onChange={project => set({ project })}
            error={fields.project_id}
          />
        )}
      </div>
      <div class='columns'>
        <Select
          label='Expires'
          value={draft.expiry}
          choices={expiries}
          onChange={value =>
            set({ expiry: expiries.find(choice => choice.value === value)?.value ?? 'never' })
          }
        />
        {draft.expiry === 'date' && (
          <Input
            label='Last day'
            type='date'
            value={draft.expiryDate}
            onInput={expiryDate => set({ expiryDate })}
            hint='In UTC.'
            error={fields.expires_at_ms}
            required
          />
        )}
      </div>
      <LimitsFields draft={draft.limits} onChange={limits => set({ limits })} error={error} />
      <Fold title='Permissions' note={permissionsNote(draft)}>
        <ScopeInput
          label='Endpoints'
          values={draft.endpoints}
          onChange={endpoints => set({ endpoints })}
          suggestions={grantedEndpoints}
          error={fields.endpoints}
        />
        <ScopeInput
          label='Models'
          values={draft.models}
          onChange={models => set({ models })}
          suggestions={modelPatterns()}
          hint='Ids, or patterns such as openai/*.'
          error={fields.models}
        />
        <ScopeInput
          label='Tool servers'
          values={draft.toolServers}
          onChange={toolServers => set({ toolServers })}
          suggestions={toolServers.value}
          error={fields.mcp_servers}
        />
        <Check
          checked={draft.toolUrls ?? namesAllServers(draft.toolServers)}
          onChange={toolUrls =>
            set({ toolUrls: toolUrls === namesAllServers(draft.toolServers) ? null : toolUrls })
          }
        >
          Tool servers by URL<span class='small faint'> – at any public address</span>
        </Check>
        <TagInput
          label='Guards'
          values={draft.stages ?? []}
          onChange={stages => set({ stages: stages.length === 0 ? null : stages })}
          suggestions={stageNames.value}
          hint='They inspect all of its calls, whatever these ask for.'
          placeholder='None'
          error={fields.stages}
          optional
        />
        {may('admin') && (
          <Check checked={draft.providerObjects} onChange={providerObjects => set({ providerObjects })}>
            Files, containers and threads at providers
            <span class='small faint'> – all keys with this share them</span>
          </Check>
        )}
      </Fold>
    </>
  )
}

function permissionsNote ({ endpoints, models, toolServers, toolUrls, stages }: KeyDraft): string {
  return endpoints === null &&
    models === null &&
    toolServers === null &&
    stages === null &&
    toolUrls !== false
    ? 'All endpoints, models and tools'
    : 'Limited'
}
