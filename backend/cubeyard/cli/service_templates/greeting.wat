;; A CamCube service in WebAssembly's text format: carries a greeting to the server that answers for a key.
;; A message is `X,Y,Z text`. Packets: the key's three bytes, those of the sender's coordinate, two of nothing, the text.
(module
  (import "cubeyard" "here" (func $here (result i32)))
  (import "cubeyard" "next" (func $next (param i32) (result i32)))
  (import "cubeyard" "route" (func $route (param i32 i32 i32) (result i32)))
  (import "cubeyard" "answer" (func $answer (param i32 i32) (result i32)))
  (memory (export "memory") 2)

  ;; Packets and messages are at 0, what is sent is made at 65536.
  (func (export "buffer") (result i32) (i32.const 0))

  ;; F: the next key coordinates. Called where the current key's server is; none is the packet's end.
  (func (export "F") (param $at i32) (param $length i32)
    (local $to i32)
    (local.set $to (i32.and (i32.load (i32.const 0)) (i32.const 0xffffff)))
    (if (i32.ne (local.get $to) (local.get $at))
      (then (drop (call $next (local.get $to))))))

  (func (export "classify") (param $length i32) (result i32) (i32.const 0))

  ;; A packet is at its end: tell the outside what it says.
  (func (export "deliver") (param $at i32) (param $length i32)
    (if (i32.ge_u (local.get $length) (i32.const 8))
      (then (drop (call $answer (i32.const 8) (i32.sub (local.get $length) (i32.const 8)))))))

  (func (export "message") (param $length i32)
    (local $i i32) (local $axis i32) (local $number i32) (local $key i32) (local $byte i32)
    (block $parsed
      (loop $more
        (local.set $byte (i32.const 32))
        (if (i32.lt_u (local.get $i) (local.get $length))
          (then (local.set $byte (i32.load8_u (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (if (i32.lt_u (i32.sub (local.get $byte) (i32.const 48)) (i32.const 10))
          (then
            (local.set $number
              (i32.add (i32.mul (local.get $number) (i32.const 10)) (i32.sub (local.get $byte) (i32.const 48)))))
          (else
            (local.set $key
              (i32.or (local.get $key)
                (i32.shl (i32.and (local.get $number) (i32.const 255)) (i32.mul (local.get $axis) (i32.const 8)))))
            (local.set $number (i32.const 0))
            (local.set $axis (i32.add (local.get $axis) (i32.const 1)))
            (br_if $parsed (i32.eq (local.get $axis) (i32.const 3)))))
        (br $more)))
    (if (i32.gt_u (local.get $i) (local.get $length)) (then (local.set $i (local.get $length))))
    (i32.store (i32.const 65536) (local.get $key))
    (i32.store (i32.const 65539) (call $here))
    (memory.copy (i32.const 65544) (local.get $i) (i32.sub (local.get $length) (local.get $i)))
    (drop (call $route
      (i32.const 65536)
      (i32.add (i32.const 8) (i32.sub (local.get $length) (local.get $i)))
      (local.get $key)))))
