/** Creates or changes a project. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { api, type Answer } from '../api/client.ts'
import { draftLimits, limitsOf } from '../limits/limits-draft.ts'
import { LimitsFields } from '../limits/limits-fields.tsx'
import { keyFieldNames } from '../keys/key-fields.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Input } from '../parts/input.tsx'
import { Failure } from '../parts/notice.tsx'
import { ScopeInput } from '../parts/scope-input.tsx'
import { TagInput } from '../parts/tag-input.tsx'
import { useAction } from '../state/action.ts'
import { loadCatalogue, modelPatterns, stageNames } from '../state/catalogue.ts'

type Project = Answer<'GET /admin/v1/projects/:project_id'>

export interface ProjectDialogProps {
  /** Absent for a new one. */
  readonly project?: Project
  readonly onClose: () => void
  readonly onSaved: (project: Project) => void
}

export function ProjectDialog ({ project, onClose, onSaved }: ProjectDialogProps): JSX.Element {
  useEffect(() => { void loadCatalogue() }, [])
  const name = useSignal(project?.name ?? '')
  const models = useSignal<readonly string[] | null>(project?.models ?? null)
  const stages = useSignal<readonly string[]>(project?.stages ?? [])
  const limits = useSignal(draftLimits(project?.limits ?? null))
  const { run, busy, error } = useAction()
  const save = (): void => {
    void run(async () => {
      onSaved(project === undefined ? await create() : await change(project))
      onClose()
    })
  }
  const create = async (): Promise<Project> => {
    const limited = limitsOf(limits.value)
    return api('POST /admin/v1/projects', {
      body: {
        name: name.value.trim(),
        ...models.value !== null && { models: [...models.value] },
        ...stages.value.length > 0 && { stages: [...stages.value] },
        ...limited !== null && { limits: limited }
      }
    })
  }
  // Only what differs, so that changes that others made since the project was read stay.
  const change = async (before: Project): Promise<Project> =>
    api('POST /admin/v1/projects/:project_id', {
      at: { project_id: before.id },
      body: {
        ...name.value.trim() !== before.name && { name: name.value.trim() },
        ...differ(models.value, before.models) && { models: models.value && [...models.value] },
        ...differ(stages.value, before.stages ?? []) && {
          stages: stages.value.length === 0 ? null : [...stages.value]
        },
        ...differ(limits.value, draftLimits(before.limits)) && { limits: limitsOf(limits.value) }
      }
    })
  return (
    <Dialog
      title={project === undefined ? 'Create a project' : 'Edit project'}
      subtitle='Its limits hold for all its keys together.'
      onClose={onClose}
      onSubmit={save}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy} disabled={name.value.trim() === ''}>
            {project === undefined ? 'Create project' : 'Save'}
          </Button>
        </>
      }
    >
      <Input
        label='Name'
        value={name.value}
        onInput={value => {
          name.value = value
        }}
        error={error?.fields.name}
        placeholder='Support assistant'
        required
        autofocus
        maxLength={100}
        autocomplete='off'
      />
      <LimitsFields
        draft={limits.value}
        onChange={next => {
          limits.value = next
        }}
        error={error}
      />
      <ScopeInput
        label='Models'
        values={models.value}
        onChange={values => {
          models.value = values
        }}
        suggestions={modelPatterns()}
        hint='Ids, or patterns such as openai/*.'
        error={error?.fields.models}
      />
      <TagInput
        label='Guards'
        values={stages.value}
        onChange={values => {
          stages.value = values
        }}
        suggestions={stageNames.value}
        hint='They inspect all calls of its keys, whatever these ask for.'
        placeholder='None'
        error={error?.fields.stages}
        optional
      />
      <Failure error={error} fields={keyFieldNames} />
    </Dialog>
  )
}

function differ (one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}
