/* SPDX-License-Identifier: Apache-2.0
 *
 * The guest that tells whether hardware virtualization works: from the reset
 * vector through protected mode into long mode with paging, a million turns of
 * a loop that touches memory, then exit code 33 through isa-debug-exit. A
 * device node that opens says nothing; this code having run does.
 *
 * These are the last 512 bytes below 4 GiB; the rest of the firmware image is
 * zeros. Assemble with:
 *   as --64 -o probe.o probe.S
 *   ld -Ttext=0xfffffe00 --oformat=binary -e start -o probe.bin probe.o
 */
	.set	PML4, 0x1000
	.set	PDPT, 0x2000
	.set	PD,   0x3000
	.set	BASE, 0xfe00	/* of this code in the 64 KiB segment at reset */

	.text
	.code16
	.globl	start
start:
	cli
	lgdtl	%cs:(gdtr - start + BASE)
	movl	%cr0, %eax
	orl	$1, %eax
	movl	%eax, %cr0
	ljmpl	$0x08, $protected

	.code32
protected:
	movw	$0x10, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	/* Pages of 2 MiB for the two ranges in use: the first of memory, and the
	 * last below 4 GiB, where this code lies. */
	xorl	%eax, %eax
	movl	$PML4, %edi
	movl	$0x1000, %ecx
	cld
	rep stosl
	movl	$(PDPT + 3), PML4
	movl	$(PD + 3), PDPT
	movl	$(PD + 0x1000 + 3), PDPT + 24
	movl	$0x83, PD
	movl	$0xffe00083, PD + 0x1000 + 0xff8
	movl	%cr4, %eax
	orl	$0x20, %eax
	movl	%eax, %cr4
	movl	$PML4, %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx
	rdmsr
	orl	$0x100, %eax
	wrmsr
	movl	%cr0, %eax
	orl	$0x80000000, %eax
	movl	%eax, %cr0
	ljmpl	$0x18, $long

	.code64
long:
	movl	$1000000, %ecx
	movl	$0x8000, %edi
1:	addq	%rcx, (%rdi)
	decl	%ecx
	jnz	1b
	movb	$0x10, %al
	outb	%al, $0xf4
2:	hlt
	jmp	2b

	.balign	8
gdt:	.quad	0
	.quad	0x00cf9a000000ffff	/* 0x08: 32-bit code */
	.quad	0x00cf92000000ffff	/* 0x10: data */
	.quad	0x00af9a000000ffff	/* 0x18: 64-bit code */
gdtr:	.word	. - gdt - 1
	.long	gdt

	.org	0x1f0
	.code16
	jmp	start
	.org	0x200
