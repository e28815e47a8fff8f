/** The names of the projects that the user may see. */

import { session } from './session.ts'
import type { Choice } from '../parts/select.tsx'

export function projectName (id: string): string {
  return session.value?.projects.find(project => project.id === id)?.name ?? id
}

export function projectChoices (): readonly Choice[] {
  return (session.value?.projects ?? []).map(({ id, name }) => ({ value: id, label: name }))
}
