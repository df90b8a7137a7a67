/* tests/simt/fiber.c - fibers: stacks of their own between which the emulator switches, one per device thread. Stacks
 * are kept for the life of the process. A fiber that is given up is simply never entered again. */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/simt/sim.h"
#ifndef __x86_64__
#include <ucontext.h>
#endif

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 4096 };

struct fiber {
#ifdef __x86_64__
  void *sp;
#else
  ucontext_t context;
#endif
  uint8_t *stack;
  void (*run)(void *);
  void *arg;
};

static fiber fibers[SIM_MAX_THREADS];
static uint8_t *pool; /* all stacks, each with a guard page below */
static fiber *current;

/* With AddressSanitizer the frames of an abandoned fiber would stay poisoned. */
void __asan_unpoison_memory_region(void const volatile *at, size_t bytes) __attribute__((weak));

bool fiber_owns(const void *p) {
  return pool && (const uint8_t *)p >= pool && (const uint8_t *)p < pool + (size_t)SIM_MAX_THREADS * STACK_BYTES;
}

#ifdef __x86_64__
static void *scheduler_sp;
/* Saves the callee-saved registers on the running stack, its pointer in *from, and goes on with another stack. */
void emu_switch(void **from, void *to);
__asm__(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n.size emu_switch,.-emu_switch\n");

void fiber_enter(fiber *f) {
  current = f;
  emu_switch(&scheduler_sp, f->sp);
  current = NULL;
}

void fiber_leave(void) { emu_switch(&current->sp, scheduler_sp); }
#else
static ucontext_t scheduler;
void fiber_enter(fiber *f) {
  current = f;
  swapcontext(&scheduler, &f->context);
  current = NULL;
}

void fiber_leave(void) { swapcontext(&current->context, &scheduler); }
#endif

static void start(void) {
  fiber *f = current;
  f->run(f->arg);
  for (;;) fiber_leave(); /* done: never entered again */
}

static void prepare(fiber *f) {
#ifdef __x86_64__
  void **sp = (void **)(f->stack + STACK_BYTES);
  *--sp = NULL; /* a return address for `start`: its frame begins 8 below a multiple of 16 */
  *--sp = (void *)(uintptr_t)start;
  for (int i = 0; i < 6; i++) *--sp = NULL;
  f->sp = sp;
#else
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack + GUARD_BYTES;
  f->context.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
  f->context.uc_link = NULL;
  makecontext(&f->context, start, 0);
#endif
}

fiber *fiber_get(int index, void (*run)(void *), void *arg) {
  assert(index >= 0 && index < SIM_MAX_THREADS);
  if (!pool) {
    pool = mmap(NULL, (size_t)SIM_MAX_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool == MAP_FAILED) abort();
  }
  fiber *f = &fibers[index];
  if (!f->stack) {
    f->stack = pool + (size_t)index * STACK_BYTES;
    if (mprotect(f->stack, GUARD_BYTES, PROT_NONE)) abort();
  }
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(f->stack + GUARD_BYTES, STACK_BYTES - GUARD_BYTES);
  f->run = run;
  f->arg = arg;
  prepare(f);
  return f;
}
